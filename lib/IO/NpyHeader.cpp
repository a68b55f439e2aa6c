//===- NpyHeader.cpp - The header of a .npy array -------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Magic, version, header length, then a Python dict literal with exactly the
// keys descr, fortran_order and shape. Only the literals that numpy writes are
// understood; nothing is evaluated.
//
//===----------------------------------------------------------------------===//

#include "NpyHeader.h"
#include "ReaderSupport.h"
#include "Transpose.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include <cstring>

using namespace sparseditto;

static constexpr llvm::StringLiteral magic("\x93NUMPY");

template <typename... Ts>
static llvm::Error fail(const char *format, Ts &&...values) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Ts>(values)...));
}

llvm::Expected<uint64_t> NpyHeader::headerBytes(llvm::ArrayRef<uint8_t> start) {
  if (!llvm::toStringRef(start).starts_with(magic))
    return fail("got first bytes {0}; want the npy magic 934e554d5059",
                llvm::toHex(start.take_front(6), /*LowerCase=*/true));
  if (start.size() < 12)
    return fail("npy header is cut off after {0} bytes", start.size());
  const unsigned major = start[6];
  if (major < 1 || major > 3)
    return fail("npy version {0}.{1} is not known; want 1.0, 2.0 or 3.0", major,
                unsigned(start[7]));
  uint64_t length = major == 1
                        ? llvm::support::endian::read16le(start.data() + 8)
                        : llvm::support::endian::read32le(start.data() + 8);
  uint64_t total = length + (major == 1 ? 10 : 12);
  if (total > maxBytes)
    return fail("npy header length {0} is over the limit of {1} bytes", length,
                maxBytes);
  return total;
}

namespace {

/// Reads the dict literal.
class HeaderParser {
public:
  HeaderParser(llvm::StringRef text, NpyHeader &header)
      : rest(text), header(header) {}
  llvm::Error parse();

private:
  void skipSpace() { rest = rest.ltrim(" \t\n\r\f"); }
  bool consume(char c) {
    skipSpace();
    return rest.consume_front(llvm::StringRef(&c, 1));
  }
  llvm::Error expected(llvm::StringRef what) {
    skipSpace();
    return fail("npy header: got '{0}', want {1}", printable(rest, 20), what);
  }
  llvm::Expected<llvm::StringRef> parseString();
  llvm::Error parseShape();
  llvm::Error parseDescr();
  llvm::Error parseOrder();

  llvm::StringRef rest;
  NpyHeader &header;
};

} // namespace

llvm::Expected<llvm::StringRef> HeaderParser::parseString() {
  skipSpace();
  if (rest.empty() || (rest[0] != '\'' && rest[0] != '"'))
    return expected("a quoted string");
  size_t end = rest.find(rest[0], 1);
  if (end == llvm::StringRef::npos)
    return expected("a closing quote");
  llvm::StringRef result = rest.slice(1, end);
  rest = rest.substr(end + 1);
  return result;
}

llvm::Error HeaderParser::parseShape() {
  if (!consume('('))
    return expected("'(' of the shape");
  while (!consume(')')) {
    uint64_t dimension;
    skipSpace();
    llvm::StringRef digits = rest.take_while(llvm::isDigit);
    if (digits.empty() || digits.getAsInteger(10, dimension) ||
        dimension > uint64_t(std::numeric_limits<int64_t>::max()))
      return expected("a dimension from 0 to 2^63 - 1");
    rest = rest.substr(digits.size());
    rest.consume_front("L"); // Written by numpy on Python 2.
    header.info.shape.push_back(int64_t(dimension));
    if (!consume(',') && !(skipSpace(), rest.starts_with(")")))
      return expected("',' or ')' in the shape");
  }
  return llvm::Error::success();
}

llvm::Error HeaderParser::parseOrder() {
  skipSpace();
  if (rest.consume_front("True"))
    header.fortranOrder = true;
  else if (!rest.consume_front("False"))
    return expected("True or False");
  return llvm::Error::success();
}

llvm::Error HeaderParser::parseDescr() {
  skipSpace();
  if (rest.starts_with("["))
    return fail("element type is a record; want one number an element");
  llvm::Expected<llvm::StringRef> descr = parseString();
  if (!descr)
    return descr.takeError();
  llvm::StringRef code = *descr;
  const bool bigEndian = code.consume_front(">");
  if (!bigEndian && !code.consume_front("<") && !code.consume_front("|"))
    code.consume_front("=");
  std::optional<ElementType> type =
      llvm::StringSwitch<std::optional<ElementType>>(code)
          .Case("f8", ElementType::F64)
          .Case("f4", ElementType::F32)
          .Case("f2", ElementType::F16)
          .Case("i8", ElementType::I64)
          .Case("i4", ElementType::I32)
          .Case("i2", ElementType::I16)
          .Case("i1", ElementType::I8)
          .Case("u8", ElementType::U64)
          .Case("u4", ElementType::U32)
          .Case("u2", ElementType::U16)
          .Case("u1", ElementType::U8)
          .Case("b1", ElementType::Bool)
          .Default(std::nullopt);
  if (type) {
    header.info.type = *type;
    header.swapBytes = bigEndian && byteSize(*type) > 1;
    return llvm::Error::success();
  }
  llvm::StringRef hint = "want f2, f4, f8, i1 to i8, u1 to u8 or b1";
  if (code.starts_with("O"))
    hint = "it holds pickled Python objects; save a numeric array";
  else if (code.starts_with("c"))
    hint = "it holds complex numbers; save a real array";
  else if (code == "V2" || code == "V1")
    hint = "numpy has no name for bfloat16 and 8-bit floats; save them as "
           ".safetensors";
  header.info.unsupported = llvm::formatv("element type '{0}' is not "
                                          "supported; {1}",
                                          printable(*descr), hint);
  return llvm::Error::success();
}

llvm::Error HeaderParser::parse() {
  bool haveDescr = false, haveOrder = false, haveShape = false;
  if (!consume('{'))
    return expected("'{' of a dict");
  while (!consume('}')) {
    llvm::Expected<llvm::StringRef> key = parseString();
    if (!key)
      return key.takeError();
    if (!consume(':'))
      return expected("':'");
    bool *seen = llvm::StringSwitch<bool *>(*key)
                     .Case("descr", &haveDescr)
                     .Case("fortran_order", &haveOrder)
                     .Case("shape", &haveShape)
                     .Default(nullptr);
    if (!seen || *seen)
      return fail("npy header: key '{0}' is {1}; want descr, fortran_order and "
                  "shape once each",
                  printable(*key, 20), seen ? "repeated" : "unknown");
    *seen = true;
    if (llvm::Error error = seen == &haveDescr   ? parseDescr()
                            : seen == &haveOrder ? parseOrder()
                                                 : parseShape())
      return error;
    if (!consume(',') && !(skipSpace(), rest.starts_with("}")))
      return expected("',' or '}'");
  }
  skipSpace();
  if (!rest.empty())
    return expected("nothing after the dict");
  if (!haveDescr || !haveOrder || !haveShape)
    return fail("npy header: key '{0}' is missing", !haveDescr ? "descr"
                                                    : !haveOrder
                                                        ? "fortran_order"
                                                        : "shape");
  return llvm::Error::success();
}

llvm::Expected<NpyHeader> NpyHeader::parse(llvm::ArrayRef<uint8_t> bytes) {
  llvm::Expected<uint64_t> total = headerBytes(bytes);
  if (!total)
    return total.takeError();
  if (*total > bytes.size())
    return fail("npy header of {0} bytes is cut off after {1}", *total,
                bytes.size());
  NpyHeader header;
  header.dataOffset = *total;
  const unsigned prefix = bytes[6] == 1 ? 10 : 12;
  llvm::StringRef text =
      llvm::toStringRef(bytes.slice(prefix, *total - prefix));
  if (llvm::Error error = HeaderParser(text, header).parse())
    return error;
  if (!header.info.unsupported.empty())
    header.info.rows = header.info.cols = 0;
  else if (!flattenShape(header.info))
    return fail("npy header: size of shape {0} overflows",
                shapeText(header.info.shape));
  return header;
}

llvm::Error NpyHeader::checkDataBytes(uint64_t got) const {
  const uint64_t want = info.numBytes();
  if (!info.unsupported.empty() || got == want)
    return llvm::Error::success();
  return fail("got {0} bytes of data; want {1} for shape {2} of {3}{4}", got,
              want, shapeText(info.shape), name(info.type),
              got < want ? "; truncated?" : "; one array a file");
}

void NpyHeader::normalize(const uint8_t *src, uint8_t *dst) const {
  const unsigned size = byteSize(info.type);
  const int64_t count = info.rows * info.cols;
  if (fortranOrder && info.rank() == 2) {
    // Column-major rows x cols is row-major cols x rows.
    transposeElements(src, info.cols, info.rows, size, dst);
  } else if (fortranOrder && info.rank() > 2) {
    // Counts through the indices in C order, following the source's place.
    std::vector<int64_t> index(info.rank(), 0), stride(info.rank(), 1);
    for (size_t d = 1; d < info.rank(); ++d)
      stride[d] = stride[d - 1] * info.shape[d - 1];
    int64_t place = 0;
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(dst + i * size, src + place * size, size);
      for (size_t d = info.rank(); d-- > 0;) {
        place += stride[d];
        if (++index[d] < info.shape[d])
          break;
        place -= stride[d] * info.shape[d];
        index[d] = 0;
      }
    }
  } else if (count) {
    std::memcpy(dst, src, size_t(count) * size);
  }
  if (swapBytes)
    for (int64_t i = 0; i < count; ++i)
      std::reverse(dst + i * size, dst + (i + 1) * size);
}
