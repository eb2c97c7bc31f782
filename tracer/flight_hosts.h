#pragma once
// Finds the ranks whose host thread has halted, in the dumps of a job that no longer makes
// progress. A halted thread has stopped calling operations, although no operation blocks it. Its
// rank may have unfinished operations, as a victim has, but it waits for no other rank.
//
// A rank has halted in either of two cases.
// 1. It has finished all operations that it called, and another rank has called more. (If none has
//    called more, the rank may have reached the end of its program.)
// 2. Another rank went on from the same place of the program. A place is known by the last two
//    calls and their numbers. The other rank made the same two calls, and called further
//    operations while the second call was unfinished. So the program does not wait for the GPU at
//    this place, and the halted rank would have gone on as well.
// Case 2 counts only if the halted rank has fewer unfinished calls than some other rank, because it
// may otherwise have reached the limit of calls ahead of the GPU; if its recorder has kept all its
// unfinished calls; and if no rank shows an operation as unfinished that others have finished.
//
// Pure.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tracer/flight_recorder.h"

namespace robustrun::tracer {

class HostsAtRest {
 public:
  // Adds the dump of global rank `rank`.
  void add(std::uint32_t rank, const FlightRecording& recording);
  // The ranks that have halted. To be called after all dumps were added.
  [[nodiscard]] std::set<std::uint32_t> halted() const;

 private:
  struct Host {
    std::uint64_t place = 0;  // after its last call; 0: not known
    std::size_t unfinished = 0;  // number of unfinished calls
    bool is_deeper = false;  // the recorder has overwritten calls that may be unfinished
    std::vector<std::uint64_t> passed;  // places where it went on, its last call unfinished
    std::map<std::uint64_t, std::uint64_t> open;  // communicator → first unfinished collective
    // description of a group, or its name if it has none → newest collective
    std::map<std::string, std::uint64_t> entered;
  };
  [[nodiscard]] bool is_behind(const Host& host) const;
  [[nodiscard]] bool is_at_end(const Host& host) const;

  std::map<std::uint32_t, Host> hosts_;
  std::map<std::uint64_t, std::uint64_t> done_;  // communicator → newest collective finished
  std::map<std::string, std::uint64_t> entered_;  // as in Host, over all ranks
};

}  // namespace robustrun::tracer
