#include "base/core/words.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

namespace robustrun::base {
namespace {

double seconds_of(Nanos duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string in_seconds(Nanos time) {
  const double seconds = seconds_of(time);
  return seconds < 9999.5 ? fmt::format("{:.4g} s", seconds) : fmt::format("{:.0f} s", seconds);
}

std::string duration_words(Nanos duration) {
  const double seconds = seconds_of(duration);
  if (seconds < 0.00995) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 59.995) return fmt::format("{:.2f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  const std::uint64_t minutes = (whole + 30) / 60;
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string rough_duration_words(Nanos duration) {
  const double seconds = seconds_of(duration);
  if (seconds < 0.9995) return duration_words(duration);
  if (seconds < 99.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = std::llround(seconds);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

std::string clock_words(Nanos duration) {
  const auto s = std::chrono::round<std::chrono::seconds>(duration).count();
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace robustrun::base
