#include "tracer/flight_recorder.h"

#include <algorithm>
#include <cmath>

#include "base/core/text.h"
#include "tracer/document.h"
#include "tracer/limits.h"
#include "tracer/pickle.h"

namespace robustrun::tracer {
namespace {

using base::Errc;

// Copies a dump out of a document, at most kFlightCopiedMax bytes.
class DumpReader {
 public:
  base::Result<FlightRecording> read(const Value& root);

 private:
  void count(std::size_t bytes) { copied_ += bytes; }

  std::string text(const Value& value) {
    const std::string_view found = value.text().value_or("");
    if (found.size() > kFlightTextMax) return {};
    count(found.size());
    return std::string(found);
  }

  std::vector<std::int64_t> whole_numbers(const Value& list) {
    std::vector<std::int64_t> numbers;
    const std::size_t size = std::min(list.is_list() ? list.size() : 0, kFlightDimensionsMax);
    for (std::size_t i = 0; i < size; ++i) numbers.push_back(list.at(i).integer().value_or(0));
    count(size * sizeof(std::int64_t));
    return numbers;
  }

  std::vector<std::vector<std::int64_t>> sizes(const Value& list) {
    std::vector<std::vector<std::int64_t>> tensors;
    const std::size_t size = std::min(list.is_list() ? list.size() : 0, kFlightTensorsMax);
    for (std::size_t i = 0; i < size; ++i) tensors.push_back(whole_numbers(list.at(i)));
    count(size * sizeof(std::vector<std::int64_t>));
    return tensors;
  }

  std::vector<std::string> texts(const Value& list) {
    std::vector<std::string> found;
    const std::size_t size = std::min(list.is_list() ? list.size() : 0, kFlightTensorsMax);
    for (std::size_t i = 0; i < size; ++i) found.push_back(text(list.at(i)));
    count(size * sizeof(std::string));
    return found;
  }

  std::vector<Frame> frames(const Value& list) {
    std::vector<Frame> found;
    const std::size_t size = std::min(list.is_list() ? list.size() : 0, kFlightFramesMax);
    for (std::size_t i = 0; i < size; ++i) {
      const Value frame = list.at(i);
      if (!frame.is_map() || frame.size() > kFlightMembersMax) continue;
      const std::int64_t line = frame["line"].integer().value_or(0);
      found.push_back({text(frame["name"]), text(frame["filename"]),
                       line > 0 && line <= UINT32_MAX ? static_cast<std::uint32_t>(line) : 0});
    }
    count(size * sizeof(Frame));
    return found;
  }

  RecordedEntry entry(const Value& value);
  RecordedGroup group(std::string_view name, const Value& value);
  base::Status entries(const Value& list, FlightRecording& into);

  std::size_t copied_ = 0;
};

// 0 also for values beyond kOrdinalMax, which no counter reaches.
std::uint64_t unsigned_of(const Value& value) {
  const std::int64_t found = value.integer_or_digits().value_or(0);
  const bool plausible = found > 0 && static_cast<std::uint64_t>(found) <= kOrdinalMax;
  return plausible ? static_cast<std::uint64_t>(found) : 0;
}

std::int64_t time_of(const Value& value) {
  return std::max<std::int64_t>(0, value.integer().value_or(0));
}

std::int64_t nanoseconds(const Value& milliseconds) {
  const double found = milliseconds.number().value_or(0);
  constexpr double kNanosPerMilli = 1e6;
  constexpr double kDayInMillis = 24.0 * 3600 * 1000;
  if (!std::isfinite(found) || found < 0 || found > kDayInMillis) return 0;
  return static_cast<std::int64_t>(found * kNanosPerMilli);
}

RecordedEntry::State state_of(std::string_view text) {
  if (text == "completed") return RecordedEntry::State::kCompleted;
  if (text == "started") return RecordedEntry::State::kStarted;
  return RecordedEntry::State::kScheduled;
}

RecordedEntry DumpReader::entry(const Value& value) {
  RecordedEntry entry;
  entry.group = unsigned_of(value["pg_id"]);
  entry.group_name = text(value["process_group"].at(0));
  entry.group_description = text(value["process_group"].at(1));
  entry.operation = text(value["profiling_name"]);
  entry.is_point_to_point =
      value["is_p2p"].boolean().value_or(is_point_to_point(op_kind_of(entry.operation)));
  entry.collective = unsigned_of(value["collective_seq_id"]);
  entry.point_to_point = unsigned_of(value["p2p_seq_id"]);
  entry.input_sizes = sizes(value["input_sizes"]);
  entry.output_sizes = sizes(value["output_sizes"]);
  entry.input_types = texts(value["input_dtypes"]);
  entry.output_types = texts(value["output_dtypes"]);
  entry.state = state_of(value["state"].text().value_or(""));
  entry.retired = value["retired"].boolean().value_or(false);
  entry.created_ns = time_of(value["time_created_ns"]);
  entry.started_ns = time_of(value["time_discovered_started_ns"]);
  entry.completed_ns = time_of(value["time_discovered_completed_ns"]);
  entry.duration_ns = nanoseconds(value["duration_ms"]);
  entry.frames = frames(value["frames"]);
  count(sizeof entry);
  return entry;
}

// "[0, 1]", as torch writes the members of a group.
std::vector<std::uint32_t> ranks_of(std::string_view text) {
  text = base::trim(text);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return {};
  text = text.substr(1, text.size() - 2);
  std::vector<std::uint32_t> ranks;
  if (base::trim(text).empty()) return ranks;
  for (const std::string_view piece : base::split(text, ',')) {
    const auto rank = base::parse_int<std::uint32_t>(base::trim(piece));
    if (!rank) return {};
    ranks.push_back(*rank);
  }
  return ranks;
}

RecordedGroup DumpReader::group(std::string_view name, const Value& value) {
  RecordedGroup group;
  if (name.size() <= kFlightTextMax) group.name = std::string(name);
  if (!value.is_map() || value.size() > kFlightMembersMax) return group;
  group.description = text(value["desc"]);
  const std::string_view ranks = value["ranks"].text().value_or("");
  count(ranks.size());
  if (copied_ <= kFlightCopiedMax) group.ranks = ranks_of(ranks);
  return group;
}

base::Status DumpReader::entries(const Value& list, FlightRecording& into) {
  if (list.size() > kFlightEntriesMax) {
    return base::fail(Errc::kLimit,
                      "it has more than " + std::to_string(kFlightEntriesMax) + " entries");
  }
  std::int64_t expected = 0;
  into.complete = true;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value value = list.at(i);
    const bool usable = value.is_map() && value.size() <= kFlightMembersMax;
    into.complete = into.complete && usable && value["record_id"].integer() == expected++;
    if (usable) into.entries.push_back(entry(value));
    if (copied_ > kFlightCopiedMax) {
      return base::fail(Errc::kLimit, "its entries are too large");
    }
  }
  return {};
}

std::string_view back_end_of(const RecordedEntry& entry) {
  const std::size_t colon = entry.operation.find(':');
  return colon == std::string::npos ? "" : std::string_view(entry.operation).substr(0, colon);
}

base::Result<FlightRecording> DumpReader::read(const Value& root) {
  const Value groups = root["pg_config"];
  const Value status = root["pg_status"];
  if (!root["version"].text() || (!groups && !root["entries"])) {
    return base::fail(Errc::kNotFound, "it is not a dump of the Flight Recorder");
  }
  FlightRecording recording;
  recording.version = text(root["version"]);
  recording.library = text(root["comm_lib_version"]);
  if (groups.size() > kFlightGroupsMax || status.size() > kFlightGroupsMax) {
    return base::fail(Errc::kLimit,
                      "it has more than " + std::to_string(kFlightGroupsMax) + " process groups");
  }
  RR_TRY(entries(root["entries"], recording));
  if (!recording.entries.empty()) recording.back_end = back_end_of(recording.entries.front());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto [name, value] = groups.member(i);
    recording.groups.push_back(group(name, value));
    if (copied_ > kFlightCopiedMax) return base::fail(Errc::kLimit, "its groups are too large");
  }
  for (std::size_t i = 0; i < status.size(); ++i) {
    const auto [name, value] = status.member(i);
    const auto id = base::parse_int<std::uint64_t>(name);
    if (!id || value.size() > kFlightMembersMax) continue;
    const auto ordinal = [&](std::string_view which) {
      const std::int64_t found = value[which].integer_or_digits().value_or(-1);
      return found >= 0 && found <= static_cast<std::int64_t>(kOrdinalMax) ? found : -1;
    };
    recording.status[*id] = {ordinal("last_enqueued_collective"),
                             ordinal("last_started_collective"),
                             ordinal("last_completed_collective")};
    // A dump may be asked for without its entries.
    if (recording.entries.empty() && recording.status[*id].enqueued > 0) recording.complete = false;
  }
  return recording;
}

}  // namespace

base::Result<FlightRecording> read_flight_recording(std::string_view bytes) {
  auto document = looks_like_pickle(bytes) ? read_pickle(bytes) : read_json(bytes);
  if (!document) {
    return base::fail(document.error().code,
                      "cannot read the Flight Recorder's dump: " + document.error().what);
  }
  auto recording = DumpReader().read(document->root());
  if (!recording) {
    return base::fail(recording.error().code,
                      "cannot read the Flight Recorder's dump: " + recording.error().what);
  }
  return recording;
}

bool is_gloo(const RecordedEntry& entry) { return entry.operation.starts_with("gloo:"); }

bool is_hooked(std::string_view back_end) {
  // What it says of itself: recordsFlightRecorderNatively() in FlightRecorderDetail.cpp.
  return !back_end.empty() && back_end != "gloo" && back_end != "nccl" && back_end != "xccl";
}

bool is_done(const RecordedEntry& entry) {
  if (entry.state == RecordedEntry::State::kCompleted) return true;
  return entry.retired && (is_gloo(entry) || is_hooked(back_end_of(entry)));
}

std::int64_t newest_time(const FlightRecording& recording) {
  std::int64_t newest = 0;
  for (const RecordedEntry& entry : recording.entries) {
    newest = std::max({newest, entry.created_ns, entry.started_ns, entry.completed_ns});
  }
  return newest;
}

}  // namespace robustrun::tracer
