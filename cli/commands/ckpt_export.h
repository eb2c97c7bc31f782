#pragma once
// `robustrun ckpt export`: writes a checkpoint in a format that needs no robustrun.

#include "cli/options/parser.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

// Runs python/robustrun/export.py with the user's interpreter: torch itself writes torch's formats,
// and the module reads checkpoints through librobustrun.so. Blocks; returns the exit code.
[[nodiscard]] int export_checkpoint(const CkptLine& line, const Surroundings& around);

}  // namespace robustrun::cli
