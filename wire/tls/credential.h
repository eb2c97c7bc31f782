#pragma once
// What an agent needs to find its supervisor and to be admitted, as one line of text.
//
// The launcher writes the line to the agent's standard input, through SSH's channel or srun's;
// never to argv, the environment or a file that other users can read (docs/nodes.md, "Security of
// the control channel"). All agents of a run have the same token. So the supervisor also checks
// that it expects the node and generation that enrol or, if a machine joins by itself, that there
// is a place for it. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/ids.h"
#include "base/core/result.h"
#include "wire/messages/version.h"

namespace robustrun::wire {

// One of several agents that receive the same line.
struct AgentPlace {
  std::string name;  // the node's name for the program that starts the agent (such as srun)
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
  std::string token;            // raw bytes; 32 when robustrun made it
  std::string ca_fingerprint;  // SHA-256 of the CA's certificate (raw, 32 bytes); empty: unknown
  std::vector<std::string>
      endpoints;  // numeric "10.0.0.1:4711", "[fe80::1%eth0]:4711"; tried in order
  std::string build;  // the supervisor's build id (base/core/build_id.h); empty: not compared
  std::string interface;  // --iface; empty: the one of the connection to the supervisor
  // `count`: --nproc-per-node if it is not a number, that is, what to count on the node (gpu, cpu,
  // …); empty: the supervisor knows the number of workers. `interpreter`: the Python whose PyTorch
  // is asked for that number.
  std::string count{};
  std::string interpreter{};
  // For several agents that receive the same line. Each one calls take_place() with its node's
  // name, which sets `node` and `generation`.
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
// Reads a line of to_line(). kCorrupt, kLimit: the text names the flaw and repeats nothing of the
// line, which is secret.
[[nodiscard]] base::Result<Credential> parse_credential(std::string_view line);

// Turns a credential for several agents into that of node `name`. kNotFound: the credential has no
// such place.
[[nodiscard]] base::Status take_place(Credential& credential, const std::string& name);

}  // namespace robustrun::wire
