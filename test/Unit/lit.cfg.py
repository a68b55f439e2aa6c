"""The GoogleTest binaries of the build as one lit suite, counted case by case."""

import os

import lit.formats

# The parent suite knows the build directory, the data and the tools.
lit_config.load_config(
    config, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lit.cfg.py")
)
config.name = "SparseDitto-Unit"
config.suffixes = []
config.excludes = []
config.test_source_root = os.path.join(config.sparseditto_build, "unittests")
config.test_exec_root = config.test_source_root
config.test_format = lit.formats.GoogleTest(".", "Tests")
