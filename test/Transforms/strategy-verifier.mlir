// RUN: sd-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: #sparsepattern.strategy<csr>
// CHECK: #sparsepattern.strategy<library>
func.func private @known() attributes { a = #sparsepattern.strategy<csr>, b = #sparsepattern.strategy<library> }

// -----

// expected-error@+1 {{unknown kernel family 'magic', expected one of }}
func.func private @c12() attributes { a = #sparsepattern.strategy<magic> }

// -----

// expected-error@+1 {{family csr has no knob 'nonsense', expected one of }}
func.func private @c13() attributes { a = #sparsepattern.strategy<csr, {nonsense = 1}> }

// -----

// CHECK: #sparsepattern.strategy<csr, {warps = 32, x_source = global}>
func.func private @word() attributes { a = #sparsepattern.strategy<csr, {x_source = global, warps = 32}> }

// -----

// expected-error@+1 {{family csr: knob 'warps' got 7, expected one of 8, 16, 32 (C14)}}
func.func private @c14() attributes { a = #sparsepattern.strategy<csr, {warps = 7}> }

// -----

// expected-error@+1 {{family csr: knob 'x_source' got 'l2', expected one of shared, global (C14)}}
func.func private @c14_word() attributes { a = #sparsepattern.strategy<csr, {x_source = l2}> }
