#pragma once
// The content of a run's versions (core/types/versions.h), in `<run>/versions/N/`: the code, and
// the rest in the private file `held` (0600: an environment may hold secrets, and is never
// journaled).
//
// `robustrun update` puts an update into a new folder beside them, `new.XXXXXX`; the supervisor
// gives it a number. A version holds all differences to the run as it was started, not only those
// of the last update. Blocking, but short: only the command line copies code.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "wire/messages/orders.h"

namespace robustrun::supervisor {

struct VersionContent {
  std::vector<std::string> environment;  // NAME=VALUE
  std::vector<std::string> unset;        // names
  bool has_arguments = false;
  std::vector<std::string> arguments;    // of the script, all of them
  std::string script;                    // within the code
  std::string code_digest;               // hex; empty: the code that the run was started with
  std::uint32_t code_of = 0;             // the version in whose folder the code is
  template <class V>
  void fields(V& v) {
    v(1, "environment", environment);
    v(2, "unset", unset);
    v(3, "has_arguments", has_arguments);
    v(4, "arguments", arguments);
    v(5, "script", script);
    v(6, "code_digest", code_digest);
    v(7, "code_of", code_of);
  }
  bool operator==(const VersionContent&) const = default;
};

// An update before it has a number.
struct StagedUpdate {
  VersionContent changes;          // against the version before
  std::vector<std::string> words;  // the same for people, without secrets
  template <class V>
  void fields(V& v) {
    v(1, "changes", changes);
    v(2, "words", words);
  }
};

// Makes a folder for an update; returns its name below versions_folder(). The code goes to `code`
// in it, the code's list to `code.files`.
[[nodiscard]] base::Result<std::string> make_stage(const std::string& run_directory);
[[nodiscard]] std::string versions_folder(const std::string& run_directory);
[[nodiscard]] base::Status save_stage(const std::string& run_directory, const std::string& stage,
                                      const StagedUpdate& update);
void drop_stage(const std::string& run_directory, const std::string& stage);

// `before` with the changes applied; `number`: of the new version. Pure.
[[nodiscard]] VersionContent merged(VersionContent before, const VersionContent& changes,
                                    std::uint32_t number);
// Makes the stage version `number`, with its changes applied to version `before`. kInvalidArgument
// with a sentence when it is no update, or changes nothing; kCorrupt, kPermission, kOs.
[[nodiscard]] base::Result<StagedUpdate> adopt_stage(const std::string& run_directory,
                                                     const std::string& stage, std::uint32_t before,
                                                     std::uint32_t number);
// The content of a version; version 0 is empty.
[[nodiscard]] base::Result<VersionContent> load_version(const std::string& run_directory,
                                                        std::uint32_t number);
[[nodiscard]] wire::WorkerVersion to_message(const std::string& run_directory, std::uint32_t number,
                                             const VersionContent& content);

// Fails for a variable that no update may set or unset: those that tell workers their place, and
// robustrun's own. kInvalidArgument with a sentence.
[[nodiscard]] base::Status check_variable(std::string_view name);

}  // namespace robustrun::supervisor
