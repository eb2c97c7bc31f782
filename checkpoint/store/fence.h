#pragma once
// Which generations may commit: FENCE in the home directory stores the lowest one that still may,
// and the session that claimed it (Store::claim). After Store::admit of another generation it
// stores no session.
//
// A session is one attempt of one run as started by one supervisor: a supervisor that was replaced
// may live on and start attempts of its own. The processes of a session do not talk to each other.
// They name the session and get the same generation, and the same token for the same save.

#include <compare>
#include <cstdint>
#include <string>

#include "base/core/result.h"

namespace robustrun::checkpoint {

struct Session {
  std::string run;                // one word of at most kRunNameBytesMax
  std::uint64_t attempt = 0;      // number of restarts of the run before it
  std::uint64_t incarnation = 0;  // of the supervisor that started it; 0: unknown
  friend bool operator==(const Session&, const Session&) = default;
};

struct Fence {
  std::uint64_t generation = 0;
  Session session;  // run is empty: admitted, not claimed
};

base::Status check_session(const Session& session);
// Returns generation 0 if there is no fence. An unreadable one is an error, because the generation
// that it admitted is unknown.
base::Result<Fence> read_fence(const std::string& home);
[[nodiscard]] std::string fence_line(const Fence& fence);

// Whether that generation may still commit. Pure.
[[nodiscard]] bool admits(const Fence& fence, std::uint64_t generation);
// The outcome of a claim. kHeld: the session's own earlier claim. kTooLate: a later session of its
// run (of a later supervisor, or a later attempt of the same one) has claimed, so this one is
// refused. kNew: the session gets a generation of its own. Pure.
enum class Claim : std::uint8_t { kHeld, kTooLate, kNew };
[[nodiscard]] Claim claim_of(const Fence& fence, const Session& session);

// The token of a save. `saves_before`: how many saves this session began earlier.
[[nodiscard]] std::string attempt_token(const Session& session, std::uint64_t step,
                                        std::uint64_t saves_before);

}  // namespace robustrun::checkpoint
