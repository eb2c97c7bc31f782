#pragma once
// The keys and values of a store, and the clients that wait for keys: torch's TCPStore
// (TCPStoreLibUvBackend.cpp) without its sockets. Pure; on one thread.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/store/limits.h"
#include "base/core/result.h"

namespace robustrun::agent {

class StoreKeys {
 public:
  using Client = std::uint64_t;
  // Called for a client whose wait is over; must not call this object.
  using Wake = std::function<void(Client client)>;

  explicit StoreKeys(Wake wake, std::size_t bytes_max = kStoreBytesMax)
      : wake_(std::move(wake)), bytes_max_(bytes_max) {}

  // kLimit from any of the next five: the store has no room left, and nothing was changed.
  base::Status set(std::string_view key, std::string_view value);
  base::Status append(std::string_view key, std::string_view value);
  // Sets `value` if the key's value is `expected`; a missing key counts as empty. Returns the key's
  // value afterwards, or `expected` if the key is still missing.
  base::Result<std::string> compare_set(std::string_view key, std::string_view expected,
                                        std::string_view value);
  // Adds to a counter, whose value is decimal text; returns the sum. kCorrupt: the value is no
  // number.
  base::Result<std::int64_t> add(std::string_view key, std::int64_t amount);
  base::Status push(std::string_view queue, std::string_view value);

  // Empty if there is no such key. The view is valid until the next change.
  [[nodiscard]] std::string_view get(std::string_view key) const;
  // The oldest value of the queue; nullopt: it is empty.
  std::optional<std::string> pop(std::string_view queue);
  [[nodiscard]] std::size_t queue_length(std::string_view queue) const;
  bool remove(std::string_view key);
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  // Calls `visit` with every key, in no order.
  void for_each_key(const std::function<void(std::string_view key)>& visit) const;

  // Whether each key has a value or is a queue that is not empty.
  [[nodiscard]] bool has_all(const std::vector<std::string_view>& keys) const;
  // True if has_all(). Otherwise `client` is woken when the last missing key has come. Replaces an
  // earlier wait of `client`. kLimit: too many keys are waited for.
  base::Result<bool> wait(Client client, const std::vector<std::string_view>& keys);
  // Counts one more client at the barrier `key`. True if `clients` have come; the others are then
  // woken. Otherwise `client` waits. Errors: those of add() and wait().
  base::Result<bool> arrive(Client client, std::string_view key, std::int64_t clients);
  void forget_wait(Client client);

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  template <class T>
  using Map = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

  // The keys that were missing when the client began to wait, and how many still are.
  struct Wait {
    std::vector<std::string> keys;
    std::size_t missing = 0;
  };

  [[nodiscard]] base::Status room_for(std::size_t more) const;
  base::Status put(std::string_view key, std::string value);
  [[nodiscard]] bool has(std::string_view key) const;
  base::Status add_wait(Client client, const std::vector<std::string_view>& keys);
  void wake_all(std::string_view key);
  void wake_one(std::string_view key);
  bool has_arrived(Client client);

  Wake wake_;
  const std::size_t bytes_max_;
  Map<std::string> values_;
  Map<std::deque<std::string>> queues_;
  Map<std::vector<Client>> waiting_;  // by key
  std::unordered_map<Client, Wait> waits_;
  std::size_t wait_keys_ = 0;  // of all waits
  std::size_t bytes_ = 0;
};

}  // namespace robustrun::agent
