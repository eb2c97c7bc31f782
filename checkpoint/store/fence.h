#pragma once
// Which generations may commit. The file FENCE in the home directory stores the lowest generation
// that still may, and the session that claimed it (Store::claim). A generation that was admitted
// without a claim (Store::admit) has no session.
//
// A session is one attempt of one run, started by one supervisor. Attempts of different supervisors
// are different sessions, because a supervisor that was replaced may live on and start attempts.
// The processes of a session do not talk to each other: each names the session and so gets the same
// generation, and the same token for the same save.

#include <compare>
#include <cstdint>
#include <string>

#include "base/core/result.h"

namespace robustrun::checkpoint {

struct Session {
  std::string run;  // one word of at most kRunNameBytesMax
  std::uint64_t attempt = 0;  // number of restarts of the run before it
  std::uint64_t incarnation = 0;  // of the supervisor that started it; 0: unknown
  friend bool operator==(const Session&, const Session&) = default;
};

struct Fence {
  std::uint64_t generation = 0;
  Session session;  // if `run` is empty, the generation was admitted, not claimed
};

// kInvalidArgument: `run` is empty, too long or not one word.
base::Status check_session(const Session& session);
// Returns generation 0 if there is no fence. kCorrupt: FENCE is unreadable, so the generation that
// it admits is unknown.
base::Result<Fence> read_fence(const std::string& home);
[[nodiscard]] std::string fence_line(const Fence& fence);

// Whether `generation` may still commit. Pure.
[[nodiscard]] bool admits(const Fence& fence, std::uint64_t generation);
// The outcome of a claim by `session`. kHeld: the session has claimed before and keeps its
// generation. kTooLate: a session of the same run with a later incarnation, or with the same
// incarnation and a later attempt, has claimed; so this claim is refused. kNew: the session gets a
// new generation. Pure.
enum class Claim : std::uint8_t { kHeld, kTooLate, kNew };
[[nodiscard]] Claim claim_of(const Fence& fence, const Session& session);

// The token of a save. `saves_before`: how many saves this session began earlier.
[[nodiscard]] std::string attempt_token(const Session& session, std::uint64_t step,
                                        std::uint64_t saves_before);

}  // namespace robustrun::checkpoint
