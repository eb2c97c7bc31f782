#include "agent/store/store_keys.h"

#include <fmt/core.h>

#include <algorithm>

#include "agent/store/limits.h"
#include "base/core/text.h"

namespace robustrun::agent {

using base::Errc;

base::Status StoreKeys::room_for(std::size_t more) const {
  if (more <= bytes_max_ - bytes_) return {};
  return base::fail(Errc::kLimit,
                    fmt::format("the store holds {} MiB, its limit", bytes_max_ >> 20));
}

base::Status StoreKeys::put(std::string_view key, std::string value) {
  const auto found = values_.find(key);
  const std::size_t before =
      found == values_.end() ? 0 : key.size() + found->second.size() + kStoreValueOverhead;
  const std::size_t after = key.size() + value.size() + kStoreValueOverhead;
  if (after > before) RR_TRY(room_for(after - before));
  bytes_ += after - before;
  if (found == values_.end()) {
    values_.emplace(key, std::move(value));
  } else {
    found->second = std::move(value);
  }
  return {};
}

base::Status StoreKeys::set(std::string_view key, std::string_view value) {
  RR_TRY(put(key, std::string(value)));
  wake_all(key);
  return {};
}

base::Status StoreKeys::append(std::string_view key, std::string_view value) {
  const auto found = values_.find(key);
  if (found == values_.end()) return set(key, value);
  RR_TRY(room_for(value.size()));
  bytes_ += value.size();
  found->second.append(value);
  wake_all(key);
  return {};
}

base::Result<std::string> StoreKeys::compare_set(std::string_view key, std::string_view expected,
                                                 std::string_view value) {
  const auto found = values_.find(key);
  if (found == values_.end() && !expected.empty()) return std::string(expected);
  if (found != values_.end() && found->second != expected) return found->second;
  RR_TRY(set(key, value));
  return std::string(value);
}

base::Result<std::int64_t> StoreKeys::add(std::string_view key, std::int64_t amount) {
  std::int64_t sum = amount;
  if (const auto found = values_.find(key); found != values_.end()) {
    const auto before = base::parse_int<std::int64_t>(found->second);
    if (!before || __builtin_add_overflow(*before, amount, &sum)) {
      return base::fail(Errc::kCorrupt, "the value of a key that is to be counted is no number");
    }
  }
  RR_TRY(set(key, std::to_string(sum)));
  return sum;
}

base::Status StoreKeys::push(std::string_view queue, std::string_view value) {
  RR_TRY(room_for(value.size() + kStoreValueOverhead));
  bytes_ += value.size() + kStoreValueOverhead;
  auto found = queues_.find(queue);
  if (found == queues_.end()) found = queues_.emplace(queue, std::deque<std::string>()).first;
  found->second.emplace_back(value);
  wake_one(queue);
  return {};
}

std::string_view StoreKeys::get(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<std::string> StoreKeys::pop(std::string_view queue) {
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return std::nullopt;
  std::string value = std::move(found->second.front());
  found->second.pop_front();
  bytes_ -= value.size() + kStoreValueOverhead;
  if (found->second.empty()) queues_.erase(found);
  return value;
}

std::size_t StoreKeys::queue_length(std::string_view queue) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? 0 : found->second.size();
}

bool StoreKeys::remove(std::string_view key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return false;
  bytes_ -= key.size() + found->second.size() + kStoreValueOverhead;
  values_.erase(found);
  return true;
}

void StoreKeys::for_each_key(const std::function<void(std::string_view key)>& visit) const {
  for (const auto& [key, value] : values_) visit(key);
}

bool StoreKeys::has(std::string_view key) const {
  return values_.contains(key) || queues_.contains(key);
}

bool StoreKeys::has_all(const std::vector<std::string_view>& keys) const {
  return std::ranges::all_of(keys, [this](std::string_view key) { return has(key); });
}

static std::unexpected<base::Error> too_many_waits() {
  return base::fail(Errc::kLimit, "too many clients wait for too many keys");
}

base::Status StoreKeys::add_wait(Client client, const std::vector<std::string_view>& keys) {
  if (keys.size() > kStoreWaitsMax - wait_keys_) {
    return too_many_waits();
  }
  Wait& wait = waits_[client];
  for (const std::string_view key : keys) {
    wait.keys.emplace_back(key);
    auto found = waiting_.find(key);
    if (found == waiting_.end()) found = waiting_.emplace(key, std::vector<Client>()).first;
    found->second.push_back(client);
  }
  wait.missing = keys.size();
  wait_keys_ += keys.size();
  return {};
}

base::Result<bool> StoreKeys::wait(Client client, const std::vector<std::string_view>& keys) {
  forget_wait(client);
  std::vector<std::string_view> missing;
  for (const std::string_view key : keys) {
    if (!has(key)) missing.push_back(key);
  }
  if (missing.empty()) return true;
  RR_TRY(add_wait(client, missing));
  return false;
}

base::Result<bool> StoreKeys::arrive(Client client, std::string_view key, std::int64_t clients) {
  forget_wait(client);
  std::int64_t count = 1;
  if (const auto found = values_.find(key); found != values_.end()) {
    const auto before = base::parse_int<std::int64_t>(found->second);
    if (!before || __builtin_add_overflow(*before, 1, &count)) {
      return base::fail(Errc::kCorrupt, "the value of a barrier's key is no number");
    }
  }
  if (count < clients && wait_keys_ == kStoreWaitsMax) return too_many_waits();
  RR_TRY(put(key, std::to_string(count)));
  if (count >= clients) {
    wake_all(key);
    return true;
  }
  RR_TRY(add_wait(client, {key}));
  return false;
}

void StoreKeys::forget_wait(Client client) {
  const auto wait = waits_.find(client);
  if (wait == waits_.end()) return;
  for (const std::string& key : wait->second.keys) {
    const auto found = waiting_.find(key);
    if (found == waiting_.end()) continue;
    std::erase(found->second, client);
    if (found->second.empty()) waiting_.erase(found);
  }
  wait_keys_ -= wait->second.keys.size();
  waits_.erase(wait);
}

// One of the client's keys is there; true if it was the last one.
bool StoreKeys::has_arrived(Client client) {
  const auto wait = waits_.find(client);
  if (wait == waits_.end() || --wait->second.missing > 0) return false;
  wait_keys_ -= wait->second.keys.size();
  waits_.erase(wait);
  return true;
}

void StoreKeys::wake_all(std::string_view key) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  const std::vector<Client> clients = std::move(found->second);
  waiting_.erase(found);
  for (const Client client : clients) {
    if (has_arrived(client)) wake_(client);
  }
}

void StoreKeys::wake_one(std::string_view key) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  const Client client = found->second.front();
  found->second.erase(found->second.begin());
  if (found->second.empty()) waiting_.erase(found);
  if (has_arrived(client)) wake_(client);
}

}  // namespace robustrun::agent
