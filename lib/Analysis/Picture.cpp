//===- Picture.cpp - Spy plots --------------------------------------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Analysis/Picture.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <zlib.h>

using namespace sparseditto;

DensityMap sparseditto::densityMap(const NonZeroMask &mask, int limit) {
  DensityMap map;
  map.width = int(std::min<int64_t>(mask.cols(), limit));
  map.height = int(std::min<int64_t>(mask.rows(), limit));
  map.cells.resize(size_t(map.width) * size_t(map.height));
  for (int y = 0; y < map.height; ++y) {
    const int64_t top = y * mask.rows() / map.height;
    const int64_t bottom = (y + 1) * mask.rows() / map.height;
    for (int x = 0; x < map.width; ++x) {
      const int64_t left = x * mask.cols() / map.width;
      const int64_t right = (x + 1) * mask.cols() / map.width;
      int64_t count = 0;
      for (int64_t r = top; r < bottom; ++r)
        count += mask.count(r, left, right);
      map.cells[size_t(y) * size_t(map.width) + size_t(x)] =
          float(double(count) / (double(bottom - top) * double(right - left)));
    }
  }
  return map;
}

/// 0 is white and empty; every non-empty cell is visibly darker, and the root
/// keeps very sparse cells apart.
static uint8_t shade(float density) {
  if (density <= 0)
    return 0;
  return uint8_t(std::lround(40 + 215 * std::sqrt(std::min(density, 1.0f))));
}

static void appendChunk(std::string &png, llvm::StringRef type,
                        llvm::StringRef data) {
  char word[4];
  llvm::support::endian::write32be(word, uint32_t(data.size()));
  png.append(word, 4);
  std::string body = (type + data).str();
  png += body;
  llvm::support::endian::write32be(
      word, uint32_t(crc32(0, reinterpret_cast<const Bytef *>(body.data()),
                           uInt(body.size()))));
  png.append(word, 4);
}

std::string sparseditto::toPNG(const DensityMap &map) {
  std::string png("\x89PNG\r\n\x1a\n", 8);
  char header[13] = {};
  llvm::support::endian::write32be(header, uint32_t(map.width));
  llvm::support::endian::write32be(header + 4, uint32_t(map.height));
  header[8] = 8; // Bits a pixel.
  header[9] = 3; // Palette.
  appendChunk(png, "IHDR", llvm::StringRef(header, sizeof(header)));
  std::string palette;
  for (int i = 0; i < 256; ++i) {
    // White to dark blue.
    palette += char(255 - i * 245 / 255);
    palette += char(255 - i * 217 / 255);
    palette += char(255 - i * 145 / 255);
  }
  appendChunk(png, "PLTE", palette);
  std::string pixels;
  for (int y = 0; y < map.height; ++y) {
    pixels += '\0'; // No filter.
    for (int x = 0; x < map.width; ++x)
      pixels += char(shade(map.cells[size_t(y * map.width + x)]));
  }
  uLongf size = compressBound(uLong(pixels.size()));
  std::string packed(size, '\0');
  // compressBound makes the buffer large enough: nothing can fail but memory.
  compress2(reinterpret_cast<Bytef *>(packed.data()), &size,
            reinterpret_cast<const Bytef *>(pixels.data()),
            uLong(pixels.size()), Z_BEST_COMPRESSION);
  packed.resize(size);
  appendChunk(png, "IDAT", packed);
  appendChunk(png, "IEND", "");
  return png;
}

static std::string escaped(llvm::StringRef text) {
  std::string result;
  llvm::raw_string_ostream stream(result);
  // Names come from files: drop what XML cannot hold.
  std::string clean = llvm::json::fixUTF8(text);
  llvm::erase_if(clean, [](unsigned char c) { return c < 0x20; });
  llvm::printHTMLEscaped(clean, stream);
  return result;
}

/// Lines between blocks, where they are at least `least` pixels apart.
static void appendGrid(llvm::raw_ostream &os, const PatternReport &report,
                       double left, double top, double width, double height) {
  constexpr double least = 4;
  const double stepX = width / double(report.cols) * report.blockC;
  const double stepY = height / double(report.rows) * report.blockR;
  if (report.blockR == 0 || stepX < least || stepY < least)
    return;
  os << "<path stroke=\"#d08000\" stroke-width=\"0.5\" d=\"";
  for (double x = stepX; x < width - 0.5; x += stepX)
    os << llvm::formatv("M{0:F2} {1:F2}v{2:F2}", left + x, top, height);
  for (double y = stepY; y < height - 0.5; y += stepY)
    os << llvm::formatv("M{0:F2} {1:F2}h{2:F2}", left, top + y, width);
  os << "\"/>\n";
}

std::string sparseditto::toSVG(const DensityMap &map,
                               const PatternReport &report) {
  constexpr double margin = 12, titleHeight = 58, longest = 640, shortest = 16;
  const double scale =
      longest / double(std::max<int64_t>({report.rows, report.cols, 1}));
  const double width = std::max(shortest, double(report.cols) * scale);
  const double height = std::max(shortest, double(report.rows) * scale);
  const std::string title = escaped(report.matrixName);
  const std::string facts =
      llvm::formatv("{0}x{1} {2}, {3:F2} % zero, {4}", report.rows, report.cols,
                    name(report.type), 100 * report.sparsity(),
                    name(report.pattern))
          .str();
  const std::string reason = escaped(report.reason);
  // Wide enough for the text, at some seven pixels a letter.
  const double textWidth =
      std::max({8.0 * double(title.size()), 6.8 * double(facts.size()),
                6.8 * double(reason.size())});
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:F0}\" "
      "height=\"{1:F0}\" font-family=\"sans-serif\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      std::max(width, textWidth) + 2 * margin,
      height + 2 * margin + titleHeight);
  os << llvm::formatv("<text x=\"{0}\" y=\"24\" font-size=\"14\">{1}</text>\n"
                      "<g font-size=\"12\" fill=\"#555\">\n"
                      "<text x=\"{0}\" y=\"42\">{2}</text>\n"
                      "<text x=\"{0}\" y=\"58\">{3}</text>\n</g>\n",
                      margin, title, facts, reason);
  const double top = margin + titleHeight;
  if (map.width != 0 && map.height != 0)
    os << llvm::formatv(
        "<image x=\"{0}\" y=\"{1}\" width=\"{2:F2}\" height=\"{3:F2}\" "
        "preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
        "href=\"data:image/png;base64,{4}\"/>\n",
        margin, top, width, height, llvm::encodeBase64(toPNG(map)));
  appendGrid(os, report, margin, top, width, height);
  os << llvm::formatv("<rect x=\"{0}\" y=\"{1}\" width=\"{2:F2}\" "
                      "height=\"{3:F2}\" fill=\"none\" stroke=\"#888\"/>\n"
                      "</svg>\n",
                      margin, top, width, height);
  return text;
}

llvm::Error sparseditto::checkPicturePath(llvm::StringRef path) {
  llvm::StringRef extension = llvm::sys::path::extension(path);
  if (extension.equals_insensitive(".svg") ||
      extension.equals_insensitive(".png"))
    return llvm::Error::success();
  return llvm::createStringError(
      "cannot draw '%s': expected a name ending in .svg or .png",
      path.str().c_str());
}

llvm::Error sparseditto::writePicture(const Matrix &matrix,
                                      const PatternReport &report,
                                      llvm::StringRef path) {
  if (llvm::Error error = checkPicturePath(path))
    return error;
  llvm::Expected<NonZeroMask> mask = NonZeroMask::of(matrix);
  if (!mask)
    return mask.takeError();
  DensityMap map = densityMap(*mask);
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (!code) {
    file << (path.ends_with_insensitive(".png") ? toPNG(map)
                                                : toSVG(map, report));
    file.close();
    code = file.error();
    file.clear_error();
  }
  if (code)
    return llvm::createStringError(code, "cannot write '%s': %s",
                                   path.str().c_str(), code.message().c_str());
  return llvm::Error::success();
}
