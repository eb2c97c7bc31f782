#pragma once
// What an agent needs to find its supervisor and to be admitted, as one line of text.
//
// Handed to the agent on its standard input, through SSH's channel or srun's; never in argv, the
// environment or a file that other users can read (docs/nodes.md, "Security of the control
// channel"). All agents of a run have the same token. The supervisor also checks that it expects
// the (node, generation) that enrols or, of a machine that joins by itself, that there is a place
// for it. Pure.

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
  std::string name;  // node name, as the program that starts the agent there calls it
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
  // --nproc-per-node if it is not a number: what to count on the node (gpu, cpu, …), and the
  // interpreter whose PyTorch is queried. Empty: the supervisor knows the number of workers.
  std::string count{};
  std::string interpreter{};
  // For several agents, which are identified by their nodes' names; take_place() then sets node and
  // generation.
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
// Reads a line of to_line(); kCorrupt or kLimit names the flaw without repeating any of the line.
[[nodiscard]] base::Result<Credential> parse_credential(std::string_view line);

// Turns a credential for several agents into that of node `name`. kNotFound when it has no such
// place.
[[nodiscard]] base::Status take_place(Credential& credential, const std::string& name);

}  // namespace robustrun::wire
