#pragma once
// Which profiler plugin NCCL would load into the workers without us: the one that
// NCCL_PROFILER_PLUGIN names, in the environment or in NCCL's configuration files, else
// libnccl-profiler.so, if the loader finds one (src/misc/param.cc and src/plugin/plugin_open.cc of
// NVIDIA/nccl). NCCL has one slot for such plugins. Ours takes it, and calls the other one
// (profiler_slot.h). Reads small files, each bounded; blocks as long as their disks do.

#include <string>
#include <string_view>
#include <vector>

#include "wire/messages/worker_template.h"

namespace robustrun::agent {

struct ProfilerChoice {
  enum class Kind : unsigned char {
    kNone,   // none, or one of ours
    kOff,    // the user wants none
    kKept,   // one that ours cannot load and call: `reason`; it keeps the slot
    kNamed,  // `name`: a path, or a name as NCCL takes it
  };
  Kind kind = Kind::kNone;
  std::string name{};
  std::string source{};  // for the user: what names it
  std::string reason{};
};

// Where NCCL and the loader look; tests have places of their own.
struct ProfilerPlaces {
  std::string configuration = "/etc/nccl.conf";
  std::string loader_cache = "/etc/ld.so.cache";
  std::vector<std::string> folders = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
};

// `has_files`: false if the workers do not see this node's files, as in an image; only their
// environment counts then.
[[nodiscard]] ProfilerChoice choose_profiler(const wire::WorkerTemplate& workers, bool has_files,
                                             const ProfilerPlaces& places = {});

// PREFIX/lib, if the workers' interpreter is PREFIX/bin/NAME once its links are resolved: conda's
// interpreters search it for libraries, and so does NCCL in them. Empty: no interpreter, or no such
// file.
[[nodiscard]] std::string interpreters_libraries(const wire::WorkerTemplate& workers);

// Whether a value of NCCL_PROFILER_PLUGIN leaves the slot to us: it is empty, or our own plugin's
// path. Pure.
[[nodiscard]] bool leaves_the_slot(std::string_view value);

// The value of a variable in the text of a configuration file as NCCL reads it; empty: not there.
// Pure.
[[nodiscard]] std::string_view configured(std::string_view text, std::string_view variable);

}  // namespace robustrun::agent
