#pragma once
// `robustrun ckpt repair|prune|pin|unpin|export`: the ones that change or write something.

#include <span>

#include "checkpoint/store/catalog.h"
#include "cli/options/parser.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

// `all`: what is in the line's directories, newest first. Answers the exit code.
int prune_checkpoints(const CkptLine& line, std::span<const checkpoint::FoundAttempt> all);
int pin_checkpoint(const CkptLine& line, std::span<const checkpoint::FoundAttempt> all);
int repair_checkpoints(const CkptLine& line, std::span<const checkpoint::FoundAttempt* const> some);
// With the user's interpreter, whose torch writes the formats that are torch's.
int export_checkpoint(const CkptLine& line, const Surroundings& around);

}  // namespace robustrun::cli
