#pragma once
// What an agent must know to find its supervisor and to be let in: one line of text.
//
// Handed to the agent through its standard input, by SSH's channel or srun's; never in argv, the
// environment or a file that others can read (architecture.md, "Security"). The token is worth
// one enrolment of one (node, generation): the supervisor counts its use. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/ids.h"
#include "base/core/result.h"
#include "wire/messages/version.h"

namespace robustrun::wire {

// One of several agents that get the same line.
struct AgentPlace {
  std::string name;  // of its node, as whoever starts it there calls it
  base::NodeId node;
  base::Generation generation;
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "node", node);
    v(3, "generation", generation);
  }
};

struct Credential {
  std::uint32_t protocol = kProtocolVersion;
  std::string run_id;
  std::optional<base::NodeId> node;   // none: a machine that joins by itself (rendezvous)
  base::Generation generation;
  std::string token;            // raw bytes, 32 of them when robustrun made it
  std::string ca_fingerprint;  // SHA-256 of the CA's certificate (raw, 32 bytes); empty: not known
  std::vector<std::string>
      endpoints;  // numeric "10.0.0.1:4711", "[fe80::1%eth0]:4711"; tried in order
  std::string build;  // the supervisor's build id (base/core/build_id.h); empty: not compared
  std::string interface;  // --iface; empty: that of the connection to the supervisor
  // --nproc-per-node where it is no number: what to count there (gpu, cpu, …), and the interpreter
  // whose PyTorch is asked. Empty: the supervisor knows how many workers there are.
  std::string count{};
  std::string interpreter{};
  // For several agents, which are told apart by their nodes' names; node and generation are then
  // take_place()'s.
  std::vector<AgentPlace> places{};
  template <class V>
  void fields(V& v) {
    v(1, "protocol", protocol);
    v(2, "run_id", run_id);
    v(3, "node", node);
    v(4, "generation", generation);
    v(5, "token", token);
    v(6, "ca_fingerprint", ca_fingerprint);
    v(7, "endpoints", endpoints);
    v(8, "build", build);
    v(9, "interface", interface);
    v(10, "count", count);
    v(11, "interpreter", interpreter);
    v(12, "places", places);
  }
};

// "robustrun-credential-1 BASE64\n", at most kCredentialBytesMax.
[[nodiscard]] std::string to_line(const Credential& credential);
// Reads what to_line wrote; kCorrupt or kLimit says what is wrong with it, without repeating any
// of it.
[[nodiscard]] base::Result<Credential> parse_credential(std::string_view line);

// Of a credential for several agents: makes it the one of `name`'s. kNotFound when it has no place.
[[nodiscard]] base::Status take_place(Credential& credential, const std::string& name);

}  // namespace robustrun::wire
