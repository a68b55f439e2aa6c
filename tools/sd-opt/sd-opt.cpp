#include "mlir/InitAllDialects.h"
#include "mlir/InitAllPasses.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
int main(int argc, char **argv) {
  mlir::DialectRegistry r;
  mlir::registerAllDialects(r);

  return mlir::failed(mlir::MlirOptMain(argc, argv, "t", r));
}
