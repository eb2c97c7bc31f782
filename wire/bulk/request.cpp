#include "wire/bulk/request.h"

#include <cstring>

#include "wire/messages/limits.h"

namespace robustrun::wire {
namespace {

using base::Errc;
using base::fail;

constexpr std::string_view kRequestMagic = "RRBULK1\n";
constexpr std::string_view kAnswerMagic = "RRBULK1a";

template <class T>
void put_number(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

template <class T>
T take_number(std::string_view& in) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value |= static_cast<T>(static_cast<unsigned char>(in[i])) << (8 * i);
  }
  in.remove_prefix(sizeof value);
  return value;
}

bool takes_magic(std::string_view& in, std::string_view magic, std::size_t bytes) {
  if (in.size() != bytes || !in.starts_with(magic)) return false;
  in.remove_prefix(magic.size());
  return true;
}

}  // namespace

std::string to_bytes(const BulkRequest& request) {
  std::string out(kRequestMagic);
  put_number(out, static_cast<std::uint32_t>(request.purpose));
  put_number(out, request.rank.value);
  put_number(out, request.bytes);
  put_number(out, request.slot_bytes);
  RR_ASSERT(out.size() == kBulkRequestBytes);
  return out;
}

std::string to_bytes(const BulkAnswer& answer) {
  std::string out(kAnswerMagic);
  put_number(out, static_cast<std::uint32_t>(answer.verdict));
  put_number(out, std::uint32_t{0});
  put_number(out, answer.slot_bytes);
  for (const std::uint64_t bytes : answer.bytes) put_number(out, bytes);
  RR_ASSERT(out.size() == kBulkAnswerBytes);
  return out;
}

std::string to_bytes(const BulkRound& round) {
  std::string out;
  put_number(out, round.round);
  put_number(out, round.complete);
  RR_ASSERT(out.size() == kBulkRoundBytes);
  return out;
}

base::Result<BulkRound> parse_bulk_round(std::string_view bytes) {
  if (bytes.size() != kBulkRoundBytes) return fail(Errc::kProtocol, "the caller's round is short");
  BulkRound round;
  round.round = take_number<std::uint64_t>(bytes);
  round.complete = take_number<std::uint64_t>(bytes);
  if (round.round == 0 || round.round == round.complete) {
    return fail(Errc::kProtocol, "the caller's round is impossible");
  }
  return round;
}

base::Result<BulkRequest> parse_bulk_request(std::string_view bytes) {
  if (!takes_magic(bytes, kRequestMagic, kBulkRequestBytes)) {
    return fail(Errc::kProtocol, "the caller's request is not in the format of bulk data");
  }
  BulkRequest request;
  const auto purpose = take_number<std::uint32_t>(bytes);
  request.purpose = static_cast<BulkPurpose>(purpose);
  request.rank.value = take_number<std::uint32_t>(bytes);
  request.bytes = take_number<std::uint64_t>(bytes);
  request.slot_bytes = take_number<std::uint64_t>(bytes);
  const bool keeps =
      request.purpose == BulkPurpose::kKeep || request.purpose == BulkPurpose::kKeepRound;
  if (!keeps && request.purpose != BulkPurpose::kFetch && request.purpose != BulkPurpose::kBlocks) {
    return fail(Errc::kProtocol, "the caller's request is of an unknown kind");
  }
  if (keeps != (request.bytes > 0) || keeps != (request.slot_bytes > 0) ||
      request.slot_bytes > kBulkBytesMax || request.bytes > request.slot_bytes) {
    return fail(Errc::kProtocol, "the caller's lengths are impossible");
  }
  return request;
}

base::Result<BulkAnswer> parse_bulk_answer(std::string_view bytes) {
  if (!takes_magic(bytes, kAnswerMagic, kBulkAnswerBytes)) {
    return fail(Errc::kProtocol, "the peer's answer is not in the expected format");
  }
  BulkAnswer answer;
  const auto verdict = take_number<std::uint32_t>(bytes);
  const auto nothing = take_number<std::uint32_t>(bytes);
  answer.verdict = static_cast<BulkVerdict>(verdict);
  answer.slot_bytes = take_number<std::uint64_t>(bytes);
  for (std::uint64_t& each : answer.bytes) each = take_number<std::uint64_t>(bytes);
  if (verdict > static_cast<std::uint32_t>(BulkVerdict::kDamaged) || nothing != 0) {
    return fail(Errc::kProtocol, "the peer's answer is of an unknown kind");
  }
  bool ended = false;
  for (const std::uint64_t each : answer.bytes) {
    if (each > answer.slot_bytes || (ended && each > 0)) {
      return fail(Errc::kProtocol, "the peer's lengths are impossible");
    }
    ended = ended || each == 0;
  }
  if (answer.slot_bytes > kBulkBytesMax) {
    return fail(Errc::kProtocol, "the peer's lengths are impossible");
  }
  return answer;
}

}  // namespace robustrun::wire
