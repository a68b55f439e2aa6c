// RUN: sd-opt %s --split-input-file --verify-diagnostics

// Text from outside stays on the line of its message.

// expected-error@+1 {{repeated knob 'a\0Ab' (C13)}}
func.func private @c13() attributes {a = #sparsepattern.strategy<csr, {"a\0Ab" = 1, "a\0Ab" = 2}>}

// -----

// expected-error@+1 {{got 'f\0Ag' version 0 (C17)}}
func.func private @c17() attributes {a = #sparsepattern.packing<format = "f\0Ag", version = 0, strategy = <csr>, rows = 4, cols = 4, type = f16, buffers = ["v"]>}

// -----

// expected-error@+1 {{attribute 'a\0Ab' of a packing must be an i64, got "x" (C19)}}
func.func private @c19() attributes {a = #sparsepattern.packing<format = "f", version = 1, strategy = <csr>, rows = 4, cols = 4, type = f16, buffers = ["v"], attributes = {"a\0Ab" = "x"}>}

// -----

// expected-error@+1 {{got "n\0A4"}}
func.func private @guard() attributes {a = #sparsepattern.plan<["n\0A4" : <csr>, else : <library>]>}

// -----

// expected-error@+1 {{unknown kernel family 'x\0Ay'}}
func.func private @c12() attributes {a = #sparsepattern.strategy<"x\0Ay">}

// -----

// expected-error@+1 {{unknown attribute 'sparsepattern.a\0Ab' of the sparsepattern dialect (C34)}}
func.func private @c34() attributes {"sparsepattern.a\0Ab"}
