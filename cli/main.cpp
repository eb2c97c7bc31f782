#include "cli/commands/commands.h"

int main(int argc, char** argv) { return robustrun::cli::robustrun_main({argv, argv + argc}); }
