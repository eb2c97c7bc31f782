#pragma once
// Finds, from the dumps of a job that no longer makes progress, the ranks whose host thread has
// halted: it has stopped making calls although nothing that it called blocks it. Such a rank may
// have pending operations, as a victim has, but it waits for no other rank.
//
// Either of two observations proves it. First, a rank that has finished every operation it called
// waits for no peer. (If no other rank has called more, the rank may be at the end of its program;
// it has then not halted.) Second, another rank went on from the same place of the program. The
// place is given by the halted rank's last two calls and their numbers: the other rank made the
// same two calls, and called further operations while the second of the two was unfinished. So the
// program does not wait for the GPU there, and the halted rank would have gone on as well. The
// second observation counts only if the halted rank has fewer unfinished calls than some other rank
// (else it may have reached the limit to launch ahead), its recorder has kept all of them, and no
// rank shows an operation as unfinished that others have finished. Pure.

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
  // The ranks that have halted. Call it after all dumps have been added.
  [[nodiscard]] std::set<std::uint32_t> halted() const;

 private:
  struct Host {
    std::uint64_t place = 0;  // behind its last call; 0: not known
    std::size_t unfinished = 0;  // number of unfinished calls
    bool is_deeper = false;  // the recorder has overwritten calls that may be unfinished
    std::vector<std::uint64_t> passed;  // places it passed while the last call there was unfinished
    std::map<std::uint64_t, std::uint64_t> open;  // communicator → first unfinished collective
    std::map<std::string, std::uint64_t> entered;  // kind of group → newest collective
  };
  [[nodiscard]] bool is_behind(const Host& host) const;
  [[nodiscard]] bool is_at_end(const Host& host) const;

  std::map<std::uint32_t, Host> hosts_;
  std::map<std::uint64_t, std::uint64_t> done_;  // communicator → newest one that a rank finished
  std::map<std::string, std::uint64_t> entered_;  // as in Host, over all ranks
};

}  // namespace robustrun::tracer
