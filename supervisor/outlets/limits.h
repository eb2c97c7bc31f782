#pragma once
// Every bound of metrics, events, incident hooks and notices.

#include <chrono>
#include <cstddef>

namespace robustrun::supervisor {

// Metrics server: connections at a time, bytes of a request's header, and how long a request and
// its answer may take. Beyond kHttpConnectionsMax the oldest connection is closed, so that clients
// which hold connections open cannot keep others out.
inline constexpr std::size_t kHttpConnectionsMax = 16;
inline constexpr std::size_t kHttpHeaderBytesMax = std::size_t{8} << 10;
inline constexpr std::chrono::seconds kHttpRequestMax{5};
// A page is rendered again only after this time, however often it is requested.
inline constexpr std::chrono::milliseconds kMetricsFreshFor{500};
inline constexpr std::chrono::seconds kMetricsFileInterval{15};

inline constexpr std::size_t kEventsCongestedBytes = std::size_t{1} << 20;
inline constexpr std::size_t kEventsQueueBytesMax = std::size_t{4} << 20;  // more is dropped
inline constexpr std::chrono::seconds kEventsStallMax{5};
inline constexpr std::chrono::seconds kEventsRetryAfter{1};

// The command of --on-incident, and that of --on-bad-node.
inline constexpr std::chrono::seconds kHookTimeMax{30};
inline constexpr std::size_t kHookQueueMax = 16;
inline constexpr std::size_t kHookLinesShown = 20;
inline constexpr std::size_t kHookLineBytesShown = 300;

// --on-bad-node with Slurm: bytes of a reason, and nodes that the comment of a job names.
inline constexpr std::size_t kBadNodeReasonBytesMax = 200;
inline constexpr std::size_t kBadNodesInComment = 16;

// --notify, for each target.
inline constexpr std::size_t kNoticesWaitingMax = 16;
// At most kNoticeBurst notices go out within kNoticeWindow.
inline constexpr std::size_t kNoticeBurst = 10;
inline constexpr std::chrono::minutes kNoticeWindow{10};
inline constexpr std::chrono::seconds kNoticeRequestMax{10};  // time of one request or mail
// The wait before a failed notice is tried again doubles from the first to the maximum.
inline constexpr std::chrono::seconds kNoticeRetryFirst{1};
inline constexpr std::chrono::seconds kNoticeRetryMax{60};
inline constexpr unsigned kNoticeTriesMax = 6;
// Interval of looks whether the run makes steps.
inline constexpr std::chrono::seconds kNoticeLookEvery{5};
inline constexpr std::chrono::seconds kNoticeEndMax{4};  // how long the end of the run waits

// How long the end of the run waits for each command, and for each of the files.
inline constexpr std::chrono::seconds kHookEndMax{5};
inline constexpr std::chrono::seconds kOutletEndMax{2};

// One for each: metrics file, events, incidents, and two commands.
inline constexpr unsigned kOutletThreads = 5;
inline constexpr std::size_t kOutletJobsMax = 8;

}  // namespace robustrun::supervisor
