// A stack's reason is that of the first row of kFrameRows that any of its frames matches. The order
// matters: a data set that reads a file with torch.load is the data loader, not a checkpoint.

#include "tracer/analysis/stacks.h"

#include <algorithm>
#include <map>

#include "tracer/analysis/limits.h"

namespace robustrun::tracer {
namespace {

enum class Match : std::uint8_t { kWhole, kPart };

struct FrameRow {
  Reason reason;
  std::string_view file;  // part of the path; empty: any
  std::string_view function;  // empty: any
  Match match = Match::kWhole;
};

// Compiled code also runs below torch/_dynamo and torch/_inductor, so only compiling functions are
// listed.
constexpr FrameRow kFrameRows[] = {
    {Reason::kInteractive, "/pdb.py", ""},
    {Reason::kInteractive, "/bdb.py", ""},
    {Reason::kInteractive, "/IPython/", ""},
    {Reason::kInteractive, "/debugpy/", ""},
    {Reason::kDataLoader, "torch/utils/data/", ""},
    {Reason::kDataLoader, "/robustrun/_data/", ""},
    {Reason::kDataLoader, "/robustrun/data.py", "__next__"},
    {Reason::kDataLoader, "", "_next_data"},
    {Reason::kCheckpoint, "torch/serialization.py", ""},
    {Reason::kCheckpoint, "torch/distributed/checkpoint/", ""},
    {Reason::kCheckpoint, "/safetensors/", ""},
    {Reason::kCheckpoint, "", "save_checkpoint", Match::kPart},
    {Reason::kCheckpoint, "", "load_checkpoint", Match::kPart},
    {Reason::kCheckpoint, "", "save_pretrained"},
    {Reason::kCompile, "torch/_dynamo/convert_frame.py", ""},
    {Reason::kCompile, "torch/_dynamo/symbolic_convert.py", ""},
    {Reason::kCompile, "torch/_inductor/scheduler.py", ""},
    {Reason::kCompile, "torch/_inductor/graph.py", ""},
    {Reason::kCompile, "torch/_inductor/async_compile.py", ""},
    {Reason::kCompile, "torch/_inductor/select_algorithm.py", ""},
    {Reason::kCompile, "torch/_inductor/", "autotune", Match::kPart},
    {Reason::kCompile, "torch/_inductor/", "compile_fx_inner", Match::kPart},
    {Reason::kCompile, "/triton/compiler/", ""},
    {Reason::kCompile, "/triton/backends/", ""},
    {Reason::kCompile, "torch/utils/cpp_extension.py", ""},
    {Reason::kOwnGpu, "torch/cuda/", "synchronize"},
    {Reason::kOwnGpu, "", "StreamSynchronize", Match::kPart},
    {Reason::kOwnGpu, "", "DeviceSynchronize", Match::kPart},
    {Reason::kOwnGpu, "", "EventSynchronize", Match::kPart},
    {Reason::kOwnGpu, "", "_local_scalar_dense_cuda", Match::kPart},
    {Reason::kControlPlane, "torch/distributed/rendezvous.py", ""},
    {Reason::kControlPlane, "", "_store_based_barrier"},
    {Reason::kControlPlane, "", "monitored_barrier"},
    {Reason::kControlPlane, "torch/distributed/", "init_process_group"},
    {Reason::kControlPlane, "torch/distributed/", "_new_process_group_helper"},
    {Reason::kControlPlane, "torch/distributed/", "new_group", Match::kPart},
    {Reason::kControlPlane, "torch/distributed/", "split_group"},
    {Reason::kControlPlane, "", "TCPStore", Match::kPart},
    {Reason::kCommunication, "torch/distributed/distributed_c10d.py", ""},
    {Reason::kCommunication, "torch/distributed/_functional_collectives.py", ""},
    {Reason::kEvaluation, "", "evaluate"},
    {Reason::kEvaluation, "", "evaluation"},
    {Reason::kEvaluation, "", "evaluation_loop"},
    {Reason::kEvaluation, "", "validate"},
    {Reason::kEvaluation, "", "validation"},
    {Reason::kEvaluation, "", "run_evaluation"},
    {Reason::kEvaluation, "", "run_validation"},
    {Reason::kGarbageCollection, "", "gc_collect", Match::kPart},
    {Reason::kGarbageCollection, "", "Garbage-collecting"},
    {Reason::kDying, "/traceback.py", ""},
    {Reason::kDying, "", "_run_exitfuncs"},
    {Reason::kDying, "", "atexit_callfuncs"},
    {Reason::kDying, "", "_python_exit"},
    {Reason::kDying, "/threading.py", "_shutdown"},
};

bool matches(const FrameRow& row, const Frame& frame) {
  if (!row.file.empty() && frame.file.find(row.file) == std::string::npos) return false;
  if (row.function.empty()) return true;
  return row.match == Match::kWhole ? frame.function == row.function
                                    : frame.function.find(row.function) != std::string::npos;
}

// The standard library is in .../lib/python3.11/, .../lib64/python3.11/ or a zip; torch may also be
// in a source checkout.
bool is_users_own(const Frame& frame) {
  const std::string& file = frame.file;
  if (file.empty() || file.starts_with("<frozen")) return false;
  constexpr std::string_view kOthers[] = {"/site-packages/",   "/dist-packages/", "/lib/python",
                                          "/lib64/python",     "/lib/pypy",       "/torch/",
                                          "/python/robustrun/"};
  return std::ranges::none_of(
      kOthers, [&](std::string_view part) { return file.find(part) != std::string::npos; });
}

// Where Python itself waits for a lock.
bool is_in_threading(const Frame& frame) { return frame.file.ends_with("/threading.py"); }

const Frame* users_frame(const ThreadStack& stack) {
  const auto frame = std::ranges::find_if(stack.frames, is_users_own);
  return frame == stack.frames.end() ? nullptr : &*frame;
}

std::string place_of(const ThreadStack& stack) {
  const Frame* const frame = users_frame(stack);
  if (frame == nullptr) return {};
  std::string file = frame->file.substr(frame->file.rfind('/') + 1, kNameBytes);
  return frame->line == 0 ? file : file + ":" + std::to_string(frame->line);
}

std::string function_of(const ThreadStack& stack) {
  const Frame* const frame = users_frame(stack);
  if (frame == nullptr || frame->function == "<module>") return {};
  return frame->function.substr(0, kNameBytes);
}

const ThreadStack* main_thread(const Evidence& evidence, bool native) {
  for (const ThreadStack& stack : evidence.stacks) {
    if (stack.is_main && stack.is_native == native && !stack.frames.empty()) return &stack;
  }
  return nullptr;
}

std::string text_of(const ThreadStack& stack) {
  std::string text;
  for (const Frame& frame : stack.frames) {
    text += frame.file;
    text += ':';
    text += std::to_string(frame.line);
    text += ' ';
    text += frame.function;
    text += '\n';
  }
  return text;
}

// The threads that hold the GIL: part of the key of a stack.
std::string gil_text(const Evidence& evidence) {
  std::string text;
  for (const ThreadStack& stack : evidence.stacks) {
    if (!stack.holds_gil) continue;
    text += stack.is_main ? '!' : '?';
    text += stack.thread;
    text += place_of(stack);
  }
  return text;
}

Reason reason_of(const ThreadStack* python, const ThreadStack* native) {
  for (const FrameRow& row : kFrameRows) {
    for (const ThreadStack* stack : {python, native}) {
      if (stack == nullptr) continue;
      const auto hit = [&](const Frame& frame) { return matches(row, frame); };
      if (std::ranges::any_of(stack->frames, hit)) return row.reason;
    }
  }
  return Reason::kUserCode;
}

}  // namespace

Whereabouts whereabouts(const Evidence& evidence) {
  const ThreadStack* const python = main_thread(evidence, false);
  const ThreadStack* const native = main_thread(evidence, true);
  const bool waits_for_data = !evidence.data_wait.empty();
  Whereabouts where;
  if (waits_for_data) where.reason = Reason::kDataLoader;
  if (python == nullptr && native == nullptr) return where;
  if (!waits_for_data) where.reason = reason_of(python, native);
  if (python != nullptr) {
    where.place = place_of(*python);
    where.function = function_of(*python);
    const auto called = std::ranges::find_if_not(python->frames, is_in_threading);
    where.is_in_own_line = called != python->frames.end() && is_users_own(*called);
    where.is_in_pythons_wait = where.is_in_own_line && called != python->frames.begin();
  }
  if (where.reason != Reason::kUserCode || (python != nullptr && python->holds_gil)) return where;
  for (const ThreadStack& other : evidence.stacks) {
    if (!other.holds_gil || other.is_main) continue;
    where.reason = Reason::kGilHeld;
    where.holder = "thread " + other.thread.substr(0, kNameBytes);
    if (const std::string place = place_of(other); !place.empty()) where.holder += " in " + place;
    break;
  }
  return where;
}

OtherThreads other_threads(const Evidence& evidence) {
  constexpr std::string_view kHelpers[] = {"/robustrun/_", "/tqdm/_monitor.py"};
  OtherThreads found = OtherThreads::kNone;
  for (const ThreadStack& stack : evidence.stacks) {
    if (stack.is_main || stack.is_native) continue;
    const bool is_helper = std::ranges::any_of(kHelpers, [&](std::string_view part) {
      return std::ranges::any_of(stack.frames, [&](const Frame& frame) {
        return frame.file.find(part) != std::string::npos;
      });
    });
    if (is_helper) continue;
    const bool is_parked =
        !stack.frames.empty() && (is_in_threading(stack.frames.front()) ||
                                  stack.frames.front().file.ends_with("/futures/thread.py"));
    if (!is_parked) return OtherThreads::kActive;
    found = OtherThreads::kParked;
  }
  return found;
}

std::string_view words_of(Reason reason) {
  switch (reason) {
    case Reason::kUnknown:
    case Reason::kUserCode: return "";
    case Reason::kDataLoader: return "data loader";
    case Reason::kCheckpoint: return "checkpoint";
    case Reason::kEvaluation: return "evaluation";
    case Reason::kCompile: return "compile";
    case Reason::kOwnGpu: return "waiting for its own GPU";
    case Reason::kControlPlane: return "control plane";
    case Reason::kCommunication: return "communication";
    case Reason::kInteractive: return "interactive";
    case Reason::kGarbageCollection: return "garbage collection";
    case Reason::kGilHeld: return "another thread holds the GIL";
    case Reason::kDying: return "ending";
  }
  return "";
}

std::string place_text(const Whereabouts& where) {
  if (where.place.empty() || where.function.empty()) return where.place;
  return where.function + " (" + where.place + ")";
}

std::string describe(const Whereabouts& where) {
  const std::string_view words = words_of(where.reason);
  std::string text = place_text(where);
  if (!text.empty() && !words.empty()) text += ", ";
  text += words;
  if (!where.holder.empty()) text += " (" + where.holder + ")";
  return text;
}

bool is_elsewhere(Reason reason) {
  constexpr Reason kAll[] = {Reason::kDataLoader,  Reason::kCheckpoint,        Reason::kCompile,
                             Reason::kInteractive, Reason::kGarbageCollection, Reason::kGilHeld};
  return std::ranges::find(kAll, reason) != std::end(kAll);
}

bool is_in_script(Reason reason) {
  constexpr Reason kAll[] = {Reason::kUserCode,    Reason::kDataLoader,        Reason::kEvaluation,
                             Reason::kInteractive, Reason::kGarbageCollection, Reason::kGilHeld};
  return std::ranges::find(kAll, reason) != std::end(kAll);
}

bool is_long_phase(Reason reason) {
  return reason == Reason::kCheckpoint || reason == Reason::kEvaluation ||
         reason == Reason::kCompile;
}

Stacks read_stacks(const std::vector<const Evidence*>& evidence) {
  Stacks stacks;
  std::map<std::string, Whereabouts> known;
  std::map<std::string, SameStack> groups;
  for (std::uint32_t i = 0; i < evidence.size(); ++i) {
    const ThreadStack* const python = main_thread(*evidence[i], false);
    const ThreadStack* const native = main_thread(*evidence[i], true);
    if (python == nullptr && native == nullptr) {
      stacks.where.push_back(whereabouts(*evidence[i]));
      continue;
    }
    const std::string key = text_of(python == nullptr ? *native : *python);
    const std::string all = key + (native == nullptr ? "" : text_of(*native)) +
                            gil_text(*evidence[i]) + (evidence[i]->data_wait.empty() ? "" : "data");
    auto row = known.find(all);
    if (row == known.end()) row = known.emplace(all, whereabouts(*evidence[i])).first;
    stacks.where.push_back(row->second);
    SameStack& group = groups[key];
    if (group.members.empty()) {
      group.place = describe(row->second);
      const ThreadStack& shown = python == nullptr ? *native : *python;
      if (group.place.empty()) group.place = shown.frames.front().function.substr(0, kNameBytes);
    }
    group.members.push_back(i);
  }
  for (auto& [key, group] : groups) stacks.same.push_back(std::move(group));
  std::ranges::stable_sort(stacks.same, std::greater{},
                           [](const SameStack& g) { return g.members.size(); });
  return stacks;
}

}  // namespace robustrun::tracer
