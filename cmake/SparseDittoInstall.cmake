# Install rules and the package config (filled in by the packaging work).
