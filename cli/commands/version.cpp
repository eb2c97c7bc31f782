#include "cli/commands/commands.h"

namespace robustrun::cli {

int version_command() {
  print("robustrun " ROBUSTRUN_VERSION "\n");
  return 0;
}

}  // namespace robustrun::cli
