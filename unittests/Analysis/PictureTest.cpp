//===- PictureTest.cpp - Spy plots ----------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Analysis/Picture.h"
#include "Generate.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>
#include <zlib.h>

using namespace sparseditto;

namespace {

NonZeroMask maskOf(const Matrix &matrix) {
  return llvm::cantFail(NonZeroMask::of(matrix));
}

struct Image {
  uint32_t width = 0, height = 0;
  std::string pixels; ///< With the filter byte of each row.
};

/// Reads a PNG as the specification says, checking every checksum.
std::optional<Image> decode(llvm::StringRef png) {
  if (!png.consume_front(llvm::StringRef("\x89PNG\r\n\x1a\n", 8)))
    return std::nullopt;
  Image image;
  std::string packed;
  while (png.size() >= 12) {
    uint32_t length = llvm::support::endian::read32be(png.data());
    if (png.size() < length + 12)
      return std::nullopt;
    llvm::StringRef type = png.substr(4, 4), data = png.substr(8, length);
    uint32_t checksum =
        llvm::support::endian::read32be(png.data() + 8 + length);
    if (crc32(0, reinterpret_cast<const Bytef *>(type.data()), length + 4) !=
        checksum)
      return std::nullopt;
    if (type == "IHDR") {
      image.width = llvm::support::endian::read32be(data.data());
      image.height = llvm::support::endian::read32be(data.data() + 4);
    } else if (type == "IDAT") {
      packed += data;
    } else if (type == "IEND") {
      uLongf size = image.height * (image.width + 1);
      image.pixels.resize(size);
      if (uncompress(reinterpret_cast<Bytef *>(image.pixels.data()), &size,
                     reinterpret_cast<const Bytef *>(packed.data()),
                     packed.size()) != Z_OK ||
          size != image.pixels.size())
        return std::nullopt;
      return image;
    }
    png = png.drop_front(length + 12);
  }
  return std::nullopt;
}

TEST(Picture, CellsHoldDensities) {
  Coin coin(1);
  Matrix matrix = generate(ElementType::F16, 700, 300,
                           [&](int64_t, int64_t) { return coin(0.3); });
  DensityMap map = densityMap(maskOf(matrix));
  EXPECT_EQ(map.width, 256);
  EXPECT_EQ(map.height, 256);
  double total = 0;
  for (int y = 0; y < map.height; ++y)
    for (int x = 0; x < map.width; ++x) {
      int64_t count = 0, size = 0;
      for (int64_t r = y * 700 / 256; r < (y + 1) * 700 / 256; ++r)
        for (int64_t c = x * 300 / 256; c < (x + 1) * 300 / 256; ++c) {
          count += matrix.value(r, c) != 0;
          ++size;
        }
      total += double(count);
      ASSERT_FLOAT_EQ(map.cells[size_t(y * 256 + x)],
                      float(double(count) / double(size)));
    }
  EXPECT_EQ(total, double(analyzed(matrix).nnz));
}

TEST(Picture, PNGShowsZerosWhiteAndOthersDarker) {
  Matrix matrix = generate(ElementType::F32, 3, 5, [](int64_t i, int64_t j) {
    return i == 1 || j == 4;
  });
  std::optional<Image> image = decode(toPNG(densityMap(maskOf(matrix))));
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(image->width, 5u);
  EXPECT_EQ(image->height, 3u);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 5; ++j)
      EXPECT_EQ(image->pixels[size_t(i * 6 + j + 1)] == 0,
                matrix.value(i, j) == 0)
          << i << "," << j;
}

TEST(Picture, SVGNamesWhatItShows) {
  Matrix matrix =
      generate(ElementType::F16, 128, 128, [](int64_t i, int64_t j) {
        return (i / 16 + j / 16 * 3) % 4 == 0;
      });
  matrix.name = "a<b>&\"c\"\x01";
  PatternReport report = analyzed(matrix);
  ASSERT_EQ(report.pattern, Pattern::Block);
  std::string svg = toSVG(densityMap(maskOf(matrix)), report);
  EXPECT_NE(svg.find("a&lt;b&gt;&amp;&quot;c&quot;<"), std::string::npos);
  EXPECT_NE(svg.find("128x128 f16, 75.00 % zero, block"), std::string::npos);
  // Seven inner lines each way.
  size_t lines = 0;
  for (char c :
       svg.substr(svg.find("<path"),
                  svg.find("\"/>", svg.find("<path")) - svg.find("<path")))
    lines += c == 'M';
  EXPECT_EQ(lines, 14u);
  size_t begin = svg.find("base64,") + 7;
  std::vector<char> png;
  ASSERT_FALSE(bool(llvm::decodeBase64(
      llvm::StringRef(svg).substr(begin, svg.find('"', begin) - begin), png)));
  EXPECT_TRUE(decode(llvm::StringRef(png.data(), png.size())).has_value());
}

TEST(Picture, HostileShapes) {
  for (auto [rows, cols] :
       {std::pair<int64_t, int64_t>{1, 1}, {1, 5000}, {5000, 1}, {257, 255}}) {
    Matrix matrix = generate(ElementType::I8, rows, cols,
                             [](int64_t i, int64_t j) { return (i + j) % 2; });
    DensityMap map = densityMap(maskOf(matrix));
    EXPECT_EQ(map.width, std::min<int64_t>(cols, 256));
    EXPECT_EQ(map.height, std::min<int64_t>(rows, 256));
    EXPECT_TRUE(decode(toPNG(map)).has_value());
    EXPECT_NE(toSVG(map, analyzed(matrix)).find("</svg>"), std::string::npos);
  }
}

TEST(Picture, Diagnostics) {
  Matrix matrix =
      generate(ElementType::I8, 2, 2, [](int64_t, int64_t) { return true; });
  PatternReport report = analyzed(matrix);
  EXPECT_EQ(llvm::toString(writePicture(matrix, report, "out.gif")),
            "cannot draw 'out.gif': expected a name ending in .svg or .png");
  EXPECT_EQ(llvm::toString(writePicture(matrix, report, "/nowhere/out.png")),
            "cannot write '/nowhere/out.png': No such file or directory");
}

} // namespace
