#include "cli/text/ckpt_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/core/text.h"
#include "base/core/words.h"

namespace robustrun::cli {
namespace {

using base::json_string;
using checkpoint::AttemptState;
using checkpoint::FoundAttempt;
using checkpoint::Shard;

std::string size_in_words(std::uint64_t bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); size /= 1024) ++unit;
  return fmt::format("{:.1f} {}", size, kUnits[unit]);
}

std::string numbers(const std::vector<std::uint64_t>& all) {
  return fmt::format("[{}]", fmt::join(all, ","));
}

constexpr std::size_t kNodesNamedMax = 3;

std::string some_of(const std::vector<std::string>& nodes) {
  std::string text;
  for (std::size_t i = 0; i < std::min(nodes.size(), kNodesNamedMax); ++i) {
    text += (i == 0 ? "" : ", ") + base::printable(nodes[i]);
  }
  if (nodes.size() <= kNodesNamedMax) return text;
  return text + fmt::format(" and {} more", nodes.size() - kNodesNamedMax);
}

std::string state_in_words(const FoundAttempt& found) {
  std::string words(checkpoint::word_for(found.state));
  if (found.verified) words += ", verified";
  if (found.pinned) words += ", pinned";
  if (found.is_local()) words += ", on local disks alone: " + some_of(found.nodes);
  if (!found.poisoned.empty()) words += ", poisoned: " + base::printable(found.poisoned);
  return words;
}

// The members that all JSON forms share, without braces.
std::string head_json(const FoundAttempt& found) {
  const checkpoint::Head& head = found.manifest.head;
  return fmt::format(
      R"("step":{},"generation":{},"attempt":{},"state":{},"verified":{},"pinned":{},)"
      R"("poisoned":{},"sequence":{},"wall_time_ns":{},"bytes":{},"tensors":{},"digest":{},)"
      R"("folders":{},"notes":{},"local":{},"drained":{})",
      found.attempt.step, found.attempt.generation, json_string(found.attempt.token),
      json_string(checkpoint::word_for(found.state)), found.verified, found.pinned,
      json_string(found.poisoned), head.sequence, head.wall_time_ns, found.data_bytes,
      found.tensors, json_string(found.digest), base::json_strings(found.folders),
      base::json_strings(found.notes), base::json_strings(found.nodes), found.drained);
}

std::string notes_text(const FoundAttempt& found) {
  std::string text;
  for (const std::string& note : found.notes) text += "  " + base::printable(note) + "\n";
  return text;
}

template <class T, class F>
std::string list_json(const T& all, F one) {
  std::string list;
  for (const auto& each : all) list += (list.empty() ? "{" : ",{") + one(each) + "}";
  return "[" + list + "]";
}

}  // namespace

std::string checkpoints_text(std::span<const FoundAttempt> all) {
  if (all.empty()) return "no checkpoints\n";
  std::string text = fmt::format("{:>12}  {:>10}  {:>10}  {:>7}  {}\n", "step", "generation",
                                 "size", "tensors", "state");
  for (const FoundAttempt& found : all) {
    const bool known = found.state == AttemptState::kCommitted;
    text += fmt::format("{:>12}  {:>10}  {:>10}  {:>7}  {}\n", found.attempt.step,
                        found.attempt.generation, known ? size_in_words(found.data_bytes) : "-",
                        known ? std::to_string(found.tensors) : "-", state_in_words(found));
    text += notes_text(found);
  }
  return text;
}

std::string checkpoints_json(std::span<const FoundAttempt> all) {
  return list_json(all, head_json) + "\n";
}

std::string checkpoint_text(const FoundAttempt& found) {
  const checkpoint::Head& head = found.manifest.head;
  std::string text =
      fmt::format("step {}, generation {}, attempt {}: {}\n", found.attempt.step,
                  found.attempt.generation, found.attempt.token, state_in_words(found));
  text += fmt::format("{} in {}, saved by {}", size_in_words(found.data_bytes),
                      base::counted(found.tensors, "tensor"),
                      base::counted(head.layout.world_size, "rank"));
  for (const checkpoint::Axis& axis : head.layout.axes) {
    if (head.layout.axes.size() == 1 && axis.size == head.layout.world_size) break;
    text += fmt::format(", {} {}", base::printable(axis.name), axis.size);
  }
  text += "\n" + notes_text(found) + "\nfiles\n";
  for (const checkpoint::DataFile& file : found.manifest.files) {
    text += fmt::format("  {:>10}  {}  on {}{}\n", size_in_words(file.bytes),
                        base::printable(file.name), base::printable(head.mounts[file.mount]),
                        file.node.empty() ? "" : " of " + base::printable(file.node));
  }
  text += "\ntensors\n";
  for (const Shard& shard : found.manifest.shards) {
    text += fmt::format("  {:>10}  {:<8} {}  {}", size_in_words(shard.bytes),
                        base::printable(shard.dtype), numbers(shard.shape),
                        base::printable(shard.name));
    if (shard.shape != shard.global_shape) {
      text += fmt::format("  at {} of {}", numbers(shard.offsets), numbers(shard.global_shape));
    }
    text += fmt::format("  (rank {})\n", shard.rank);
  }
  if (!found.manifest.states.empty()) text += "\nstates of ranks\n";
  for (const checkpoint::RankState& state : found.manifest.states) {
    text += fmt::format("  {:>10}  {}  (rank {})\n", size_in_words(state.bytes.size()),
                        base::printable(state.name), state.rank);
  }
  return text;
}

std::string checkpoint_json(const FoundAttempt& found) {
  const checkpoint::Manifest& manifest = found.manifest;
  const std::string axes = list_json(manifest.head.layout.axes, [](const checkpoint::Axis& axis) {
    return fmt::format(R"("name":{},"size":{})", json_string(axis.name), axis.size);
  });
  const std::string files = list_json(manifest.files, [](const checkpoint::DataFile& file) {
    return fmt::format(R"("name":{},"mount":{},"bytes":{},"header_bytes":{},"node":{})",
                       json_string(file.name), file.mount, file.bytes, file.header_bytes,
                       json_string(file.node));
  });
  const std::string shards = list_json(manifest.shards, [](const Shard& shard) {
    const std::string pieces = list_json(shard.pieces, [](const checkpoint::Piece& piece) {
      return fmt::format(R"("file":{},"offset":{},"bytes":{},"crc32c":"{:08x}")", piece.file,
                         piece.offset, piece.bytes, piece.crc);
    });
    return fmt::format(
        R"("name":{},"dtype":{},"rank":{},"global_shape":{},"offsets":{},"shape":{},"bytes":{},)"
        R"("crc32c":"{:08x}","pieces":{})",
        json_string(shard.name), json_string(shard.dtype), shard.rank, numbers(shard.global_shape),
        numbers(shard.offsets), numbers(shard.shape), shard.bytes, shard.crc, pieces);
  });
  const std::string states = list_json(manifest.states, [](const checkpoint::RankState& state) {
    return fmt::format(R"("rank":{},"name":{},"bytes":{})", state.rank, json_string(state.name),
                       state.bytes.size());
  });
  return fmt::format(
      R"({{{},"world_size":{},"axes":{},"mounts":{},"writers":{},"files":{},"shards":{},)"
      R"("states":{}}})"
      "\n",
      head_json(found), manifest.head.layout.world_size, axes,
      base::json_strings(manifest.head.mounts), base::json_strings(manifest.head.writers), files,
      shards, states);
}

std::string verified_text(std::span<const VerifiedCheckpoint> all) {
  std::string text;
  for (const VerifiedCheckpoint& each : all) {
    const FoundAttempt& found = *each.found;
    text += fmt::format("step {}, generation {}: ", found.attempt.step, found.attempt.generation);
    if (found.state == AttemptState::kDamaged) {
      text += "lost: no copy of its manifest is readable\n";
    } else if (each.faults.empty() && !each.away.empty()) {
      text += fmt::format("NOT REACHABLE from here in {}; no damage is known\n",
                          base::counted(each.away.size(), "place"));
    } else if (each.faults.empty()) {
      text += fmt::format("sound, {} read\n", size_in_words(found.data_bytes));
    } else {
      text += fmt::format("DAMAGED in {}\n", base::counted(each.faults.size(), "place"));
    }
    for (const auto* each_kind : {&each.faults, &each.away}) {
      for (const std::string& one : *each_kind) text += "  " + base::printable(one) + "\n";
    }
    text += notes_text(found);
  }
  return text;
}

std::string verified_json(std::span<const VerifiedCheckpoint> all) {
  return list_json(all,
                   [](const VerifiedCheckpoint& each) {
                     return head_json(*each.found) + R"(,"faults":)" +
                            base::json_strings(each.faults) + R"(,"away":)" +
                            base::json_strings(each.away);
                   }) +
         "\n";
}

std::string repaired_text(std::span<const RepairedCheckpoint> all) {
  std::string text;
  for (const RepairedCheckpoint& each : all) {
    text += fmt::format("step {}, generation {}: {}\n", each.found->attempt.step,
                        each.found->attempt.generation,
                        !each.lost.empty()  ? "NOT WHOLE"
                        : each.done.empty() ? "sound, nothing to repair"
                                            : "repaired");
    for (const std::string& done : each.done) text += "  " + base::printable(done) + "\n";
    for (const std::string& lost : each.lost) text += "  " + base::printable(lost) + "\n";
  }
  return text;
}

std::string repaired_json(std::span<const RepairedCheckpoint> all) {
  return list_json(all,
                   [](const RepairedCheckpoint& each) {
                     return fmt::format(R"({},"done":{},"lost":{})", head_json(*each.found),
                                        base::json_strings(each.done),
                                        base::json_strings(each.lost));
                   }) +
         "\n";
}

std::string pruned_text(const PrunedCheckpoints& pruned) {
  std::string text;
  for (const FoundAttempt* found : pruned.removed) {
    const bool known = found->state == AttemptState::kCommitted;
    text += fmt::format("removed step {}, generation {}: {}\n", found->attempt.step,
                        found->attempt.generation,
                        known ? size_in_words(found->data_bytes) : "never committed");
  }
  const auto is_left = [](const FoundAttempt* found) {
    return found->state == AttemptState::kCommitted;
  };
  text += fmt::format("{}{} left\n", pruned.removed.empty() ? "nothing removed, " : "",
                      std::ranges::count_if(pruned.left, is_left));
  for (const std::string& note : pruned.notes) text += "  " + base::printable(note) + "\n";
  if (!pruned.notes.empty() && pruned.removed.empty()) {
    text += "Nothing is removed until the checkpoints to keep are verified.\n";
  }
  return text;
}

std::string pruned_json(const PrunedCheckpoints& pruned) {
  const auto all = [](const std::vector<const FoundAttempt*>& some) {
    return list_json(some, [](const FoundAttempt* found) { return head_json(*found); });
  };
  return fmt::format(R"({{"removed":{},"left":{},"notes":{}}})"
                     "\n",
                     all(pruned.removed), all(pruned.left), base::json_strings(pruned.notes));
}

std::string pinned_text(const FoundAttempt& found) {
  return fmt::format("step {}, generation {}: {}\n", found.attempt.step, found.attempt.generation,
                     found.pinned ? "pinned, prune never removes it"
                                  : "not pinned, prune may remove it when it is old");
}

}  // namespace robustrun::cli
