#pragma once
// Who may commit: FENCE in the home directory says the lowest generation that still may, and, when
// it was claimed rather than admitted, for which session.
//
// A session is one attempt of one run, as one supervisor ordered it: one that was followed by
// another may live on and count attempts of its own. Its processes do not talk to each other: they
// name the session, and get the same generation, and the same token for the same save.

#include <compare>
#include <cstdint>
#include <string>

#include "base/core/result.h"

namespace robustrun::checkpoint {

struct Session {
  std::string run;            // one word of at most kRunNameBytesMax
  std::uint64_t attempt = 0;  // restarts of the run before
  std::uint64_t incarnation = 0;  // of the supervisor that ordered it; 0: nobody says
  friend bool operator==(const Session&, const Session&) = default;
};

struct Fence {
  std::uint64_t generation = 0;
  Session session;  // run is empty: nobody's
};

base::Status check_session(const Session& session);
// Generation 0 when there is none. One that cannot be read is an error: nobody knows who was
// admitted.
base::Result<Fence> read_fence(const std::string& home);
[[nodiscard]] std::string fence_line(const Fence& fence);

// Pure. Whether that generation may still commit.
[[nodiscard]] bool admits(const Fence& fence, std::uint64_t generation);
// Pure. What a session that claims finds: its own claim; that of a later one of its run (by a later
// supervisor, or by the same one a later attempt), which refuses it; or neither, and it gets a
// generation of its own.
enum class Claim : std::uint8_t { kHeld, kTooLate, kNew };
[[nodiscard]] Claim claim_of(const Fence& fence, const Session& session);

// `saves_before`: how many saves this session began before this one.
[[nodiscard]] std::string attempt_token(const Session& session, std::uint64_t step,
                                        std::uint64_t saves_before);

}  // namespace robustrun::checkpoint
