#pragma once
// What the versions of a run hold (core/versions.h), in `<run>/versions/N/`: its code, and in the
// private file `held` (0600: an environment may hold secrets, and none of it is journaled) the
// rest.
//
// Whoever asks for an update puts it into a folder beside them, `new.XXXXXX`; the supervisor gives
// it a number. A version holds all that differs from the run as it was started, not only what the
// last update changed. Blocking, and small but for copying code, which the command line does.

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
  std::string code_digest;               // hex; empty: the code is what the run was started with
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

// An update as it was handed in.
struct StagedUpdate {
  VersionContent changes;          // against the version before
  std::vector<std::string> words;  // the same for people; secrets hidden
  template <class V>
  void fields(V& v) {
    v(1, "changes", changes);
    v(2, "words", words);
  }
};

// A new folder for an update: its name, below versions_folder(). Its code goes to `code` there, and
// the code's list to `code.files`.
[[nodiscard]] base::Result<std::string> make_stage(const std::string& run_directory);
[[nodiscard]] std::string versions_folder(const std::string& run_directory);
[[nodiscard]] base::Status save_stage(const std::string& run_directory, const std::string& stage,
                                      const StagedUpdate& update);
void drop_stage(const std::string& run_directory, const std::string& stage);

// `before` with the changes; `number`: of the new version. Pure.
[[nodiscard]] VersionContent merged(VersionContent before, const VersionContent& changes,
                                    std::uint32_t number);
// The stage becomes version `number`, which follows from version `before`. kInvalidArgument with a
// sentence when it is no update, or changes nothing; kCorrupt, kPermission, kOs.
[[nodiscard]] base::Result<StagedUpdate> adopt_stage(const std::string& run_directory,
                                                     const std::string& stage, std::uint32_t before,
                                                     std::uint32_t number);
// Version 0 holds nothing.
[[nodiscard]] base::Result<VersionContent> load_version(const std::string& run_directory,
                                                        std::uint32_t number);
[[nodiscard]] wire::WorkerVersion to_message(const std::string& run_directory, std::uint32_t number,
                                             const VersionContent& content);

// Whether an update may set or unset that variable: not those that tell workers their place, and
// not robustrun's own. kInvalidArgument with a sentence.
[[nodiscard]] base::Status check_variable(std::string_view name);

}  // namespace robustrun::supervisor
