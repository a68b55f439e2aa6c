#include "sparseditto/Agent/ProviderConfig.h"
#include "sparseditto/Support/ElementType.h"
#include "llvm/Support/raw_ostream.h"

int main() {
  auto type = sparseditto::parseElementType("BF16");
  if (!type)
    return 1;
  llvm::outs() << sparseditto::name(*type) << " takes "
               << sparseditto::byteSize(*type) << " bytes\n";
  // Links without libcurl and nlohmann/json.
  std::vector<std::string> warnings;
  auto provider = sparseditto::createChatProvider({}, warnings);
  if (!provider)
    llvm::outs() << llvm::toString(provider.takeError()) << "\n";
}
