#pragma once
// Finds, from the dumps of a job that no longer makes progress, the ranks whose host thread has
// halted: it has stopped making calls although nothing that it called blocks it. Such a rank may
// have pending operations, as a victim has, but it waits for no other rank.
//
// Two observations prove it. A rank that has finished every operation it called waits for no peer;
// unless no other rank has called more, in which case it may be at the end of its program. And if
// another rank at the same place of the program went on while the same operation was unfinished,
// the program does not wait for the GPU there, so this rank would have gone on as well. Two ranks
// are at the same place if their last two calls, and the numbers of these calls, are the same.
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
