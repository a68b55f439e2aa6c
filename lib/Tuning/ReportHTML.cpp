//===- ReportHTML.cpp - report.html of a package --------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackageText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace sparseditto;

/// Names come from files: escaped, they are data and nothing else.
static std::string escaped(llvm::StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::printHTMLEscaped(text, os);
  return result;
}

static std::string rangeOf(const Choice &choice) {
  if (choice.nMax == 0)
    return "N ≥ " + std::to_string(choice.nMin);
  if (choice.nMax == choice.nMin)
    return "N = " + std::to_string(choice.nMin);
  return "N " + std::to_string(choice.nMin) + "…" + std::to_string(choice.nMax);
}

std::string sparseditto::reportHTML(const CompileResult &result) {
  std::string html;
  llvm::raw_string_ostream os(html);
  os << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<title>SparseDitto report</title>\n<style>body{font:14px "
        "system-ui,sans-serif;margin:2em}table{border-collapse:collapse}"
        "th,td{padding:.3em .6em;border-bottom:1px solid #ccc;text-align:left}"
        "td.n{text-align:right}</style></head><body>\n<h1>Compiled "
        "weights</h1>\n";
  os << llvm::formatv("<p>{0} choices, {1} kernels, packed {2:F2} MB beside "
                      "{3:F2} MB dense. Times are predicted.</p>\n",
                      result.rows.size(), result.kernelsBuilt,
                      result.packedBytes / 1e6, result.denseBytes / 1e6);
  os << "<table><thead><tr><th>tensor</th><th>shape</th><th>pattern</th>"
        "<th>density</th><th>type</th><th>layout</th><th>chip</th><th>N</th>"
        "<th>choice</th><th>predicted µs</th><th>dense µs</th><th>floor "
        "µs</th><th>registers</th><th>why</th></tr></thead><tbody>\n";
  for (const CompiledRow &row : result.rows) {
    const Choice &choice = row.choice;
    os << llvm::formatv(
        "<tr><td>{0}</td><td>{1}×{2}</td><td>{3}</td>"
        "<td class=\"n\">{4:F3}</td><td>{5}</td><td>{6}</td><td>{7}</td>"
        "<td>{8}</td>",
        escaped(row.layer), row.m, row.k, escaped(row.pattern), row.density,
        name(row.type), name(row.layout), row.chip, rangeOf(choice));
    os << "<td>" << escaped(choice.text()) << "</td>";
    os << llvm::formatv(
        "<td class=\"n\">{0:F1}</td><td class=\"n\">{1:F1}</td>"
        "<td class=\"n\">{2:F1}</td><td class=\"n\">{3}</td><td>{4}</td>"
        "</tr>\n",
        choice.predictedMicroseconds, choice.libraryMicroseconds,
        choice.floorMicroseconds,
        choice.useLibrary ? std::string("–")
                          : std::to_string(row.resources.registers),
        escaped(choice.reason));
  }
  os << "</tbody></table>\n";
  os << "<h2>Memory</h2>\n<table><thead><tr><th>tensor</th><th>layout</th>"
        "<th>packed copies</th><th>packed bytes</th><th>dense bytes</th></tr>"
        "</thead><tbody>\n";
  for (const LayerMemory &memory : result.memory)
    os << llvm::formatv("<tr><td>{0}</td><td>{1}</td><td>{2}</td>"
                        "<td class=\"n\">{3}</td><td class=\"n\">{4}</td>"
                        "</tr>\n",
                        escaped(memory.layer), name(memory.layout),
                        memory.formats.empty()
                            ? std::string("none")
                            : escaped(llvm::join(memory.formats, ", ")),
                        memory.packedBytes, memory.denseBytes);
  os << "</tbody></table>\n";
  if (!result.skipped.empty()) {
    os << "<h2>Not compiled</h2>\n<ul>\n";
    for (const SkippedTensor &tensor : result.skipped)
      os << "<li>" << escaped(tensor.layer) << " (" << escaped(tensor.file)
         << "): " << escaped(tensor.reason) << "</li>\n";
    os << "</ul>\n";
  }
  if (!result.notes.empty()) {
    os << "<h2>Notes</h2>\n<ul>\n";
    for (const std::string &note : result.notes)
      os << "<li>" << escaped(note) << "</li>\n";
    os << "</ul>\n";
  }
  os << "</body></html>\n";
  return html;
}
