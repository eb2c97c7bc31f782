// A range of a lost member is computed from the same range of the others, as erasure_code.h
// describes. A shorter member counts as padded with zeros, which need not be read.

#include "checkpoint/parity/rebuild.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/parity/erasure_code.h"
#include "checkpoint/parity/galois.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;

// The same range of each member, relative to its start; nullopt for lost members.
struct MemberBytes {
  std::vector<std::optional<std::string>> data;
  std::vector<std::optional<std::string>> parity;
};

std::optional<std::string> part_of(const ParityMember& member, std::uint64_t from,
                                   std::uint64_t bytes, const Rebuilder::VerifiedRead& read) {
  if (from >= member.bytes) return std::string(bytes, '\0');
  auto part = read(member.file, member.offset + from, std::min(bytes, member.bytes - from));
  if (!part) return std::nullopt;
  part->resize(bytes, '\0');
  return *std::move(part);
}

std::vector<bool> present(const std::vector<std::optional<std::string>>& members) {
  std::vector<bool> there;
  for (const auto& member : members) there.push_back(member.has_value());
  return there;
}

std::string sum_of(const std::vector<const std::string*>& inputs,
                   std::vector<std::uint8_t> coefficients, std::uint64_t bytes) {
  std::string sum(bytes, '\0');
  if (inputs.empty()) return sum;
  const GaloisSum code(1, inputs.size(), std::move(coefficients));
  char* const output = sum.data();
  for (std::size_t i = 0; i < inputs.size(); ++i) code.add(i, *inputs[i], {&output, 1});
  return sum;
}

}  // namespace

Rebuilder::Rebuilder(const Manifest& manifest) : places_(manifest.files.size()) {
  for (std::uint32_t i = 0; i < manifest.groups.size(); ++i) {
    const ParityGroup& group = manifest.groups[i];
    std::uint32_t number = 0;
    for (const auto* members : {&group.data, &group.parity}) {
      for (const ParityMember& member : *members) {
        places_[member.file].push_back({member.offset, member.bytes, i, number++});
      }
    }
  }
  for (auto& places : places_) std::ranges::sort(places, {}, &Place::offset);
}

Result<std::string> Rebuilder::rebuild(const Manifest& manifest, std::uint32_t file,
                                       std::uint64_t begin, std::uint64_t bytes,
                                       const VerifiedRead& read) const {
  const auto& places = places_[file];
  std::string whole;
  while (whole.size() < bytes) {
    const std::uint64_t at = begin + whole.size();
    const auto after = std::ranges::upper_bound(places, at, {}, &Place::offset);
    const bool is_covered =
        after != places.begin() && at - std::prev(after)->offset < std::prev(after)->bytes;
    if (!is_covered) {
      return fail(Errc::kCorrupt,
                  fmt::format("byte {} of {} has no parity", at, manifest.files[file].name));
    }
    const Place& place = *std::prev(after);
    const std::uint64_t from = at - place.offset;
    whole += RR_TRY(rebuild_within(manifest, place, from,
                                   std::min(bytes - whole.size(), place.bytes - from), read));
  }
  return whole;
}

Result<std::string> Rebuilder::rebuild_within(const Manifest& manifest, const Place& place,
                                              std::uint64_t from, std::uint64_t bytes,
                                              const VerifiedRead& read) {
  const ParityGroup& group = manifest.groups[place.group];
  const CodeShape shape{group.data.size(), group.parity.size()};
  MemberBytes found;
  for (std::uint32_t i = 0; i < group.data.size(); ++i) {
    found.data.push_back(i == place.member ? std::nullopt
                                           : part_of(group.data[i], from, bytes, read));
  }
  std::vector<const std::string*> inputs;
  if (place.member >= group.data.size()) {
    const std::size_t row = place.member - group.data.size();
    std::vector<std::uint8_t> coefficients;
    for (std::size_t i = 0; i < shape.data; ++i) {
      if (!found.data[i]) {
        return fail(Errc::kCorrupt, fmt::format("{} is lost, from which this parity is computed",
                                                manifest.files[group.data[i].file].name));
      }
      inputs.push_back(&*found.data[i]);
      coefficients.push_back(code_coefficient(shape, row, i));
    }
    return sum_of(inputs, std::move(coefficients), bytes);
  }
  for (const ParityMember& member : group.parity) {
    found.parity.push_back(part_of(member, from, bytes, read));
  }
  auto plan = plan_recovery(shape, present(found.data), present(found.parity), place.member);
  if (!plan) {
    const auto lost = std::ranges::count(present(found.data), false);
    return fail(Errc::kCorrupt,
                fmt::format("{} of {} members of the parity group are lost, and {} of their parity",
                            lost, shape.data, std::ranges::count(present(found.parity), false)));
  }
  for (const std::size_t column : plan->columns) inputs.push_back(&*found.data[column]);
  for (const std::size_t row : plan->rows) inputs.push_back(&*found.parity[row]);
  return sum_of(inputs, std::move(plan->coefficients), bytes);
}

}  // namespace robustrun::checkpoint
