#include "checkpoint/store/fence.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "base/core/hash.h"
#include "base/core/text.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/format/paths.h"

namespace robustrun::checkpoint {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;

namespace {

std::string words_of(const Session& session) {
  const auto& [run, attempt, incarnation] = session;
  if (incarnation == 0) return fmt::format("{} {}", run, attempt);
  return fmt::format("{} {} {}", run, incarnation, attempt);
}

}  // namespace

Status check_session(const Session& session) {
  if (session.run.size() <= kRunNameBytesMax && is_control_word(session.run)) return {};
  return fail(Errc::kInvalidArgument, "cannot save as run '" + base::printable(session.run) +
                                          "': a run's name is one word of at most 256 letters");
}

Result<Fence> read_fence(const std::string& home) {
  const std::string path = home + "/" + std::string(kFenceName);
  const auto words = read_control_line(path);
  if (!words && words.error().os_errno == ENOENT) return Fence{};
  std::string wrong = words ? "cannot use " + path + ": it is not a fence" : words.error().what;
  const std::size_t count = words ? words->size() : 0;
  if ((count == 2 || count == 4 || count == 5) && words->front() == "fence") {
    const auto generation = base::parse_int<std::uint64_t>(words->at(1));
    if (generation && count == 2) return Fence{*generation, {}};
    const auto attempt = base::parse_int<std::uint64_t>(words->back());
    const auto incarnation = base::parse_int<std::uint64_t>(count == 5 ? words->at(3) : "0");
    if (generation && attempt && incarnation) {
      return Fence{*generation, {words->at(2), *attempt, *incarnation}};
    }
  }
  return fail(Errc::kCorrupt, wrong + "; remove it if no other job saves here");
}

// Without an incarnation, the line has the older format.
std::string fence_line(const Fence& fence) {
  if (fence.session.run.empty()) return control_line(fmt::format("fence {}", fence.generation));
  return control_line(fmt::format("fence {} {}", fence.generation, words_of(fence.session)));
}

bool admits(const Fence& fence, std::uint64_t generation) { return fence.generation <= generation; }

Claim claim_of(const Fence& fence, const Session& session) {
  if (fence.session == session) return Claim::kHeld;
  const auto when = [](const Session& one) { return std::pair(one.incarnation, one.attempt); };
  const bool is_later = fence.session.run == session.run && when(fence.session) > when(session);
  return is_later ? Claim::kTooLate : Claim::kNew;
}

std::string attempt_token(const Session& session, std::uint64_t step, std::uint64_t saves_before) {
  const std::string text = fmt::format("{} {} {}", words_of(session), step, saves_before);
  return fmt::format("{:016x}", base::hash64(text));
}

}  // namespace robustrun::checkpoint
