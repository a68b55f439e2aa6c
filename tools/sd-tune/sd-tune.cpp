#include "sparseditto/Support/ElementType.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Compression.h"
int main(int, char **) { llvm::SmallVector<uint8_t> o; uint8_t b[100]={0}; llvm::compression::zstd::compress(b,o); llvm::compression::zlib::compress(b,o); llvm::outs() << sparseditto::name(sparseditto::ElementType::F16); }
