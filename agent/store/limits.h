#pragma once
// Limits of the store.

#include <chrono>
#include <cstddef>

namespace robustrun::agent {

// torch's own limits (TCPStoreLibUvBackend.cpp).
inline constexpr std::size_t kStoreKeyBytesMax = std::size_t{8} << 10;
inline constexpr std::size_t kStoreValueBytesMax = std::size_t{8} << 20;
inline constexpr std::size_t kStoreKeysPerRequestMax = std::size_t{128} << 10;

inline constexpr std::size_t kStoreRequestBytesMax = std::size_t{64} << 20;  // keys and values
inline constexpr std::size_t kStoreBytesMax = std::size_t{4} << 30;  // of all keys and values
inline constexpr std::size_t kStoreValueOverhead = 64;  // counted besides key and value
// Keys for which clients wait, of all clients together.
inline constexpr std::size_t kStoreWaitsMax = std::size_t{4} << 20;
// Each rank has one connection; some libraries open more.
inline constexpr std::size_t kStoreConnectionsMax = std::size_t{64} << 10;
// Answers that one client has not read yet.
inline constexpr std::size_t kStoreUnreadBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kStoreReadBytes = std::size_t{64} << 10;
inline constexpr std::size_t kStoreStrangersMax = 256;  // connections that have sent no request yet
// From a connection to its first request, which must be valid.
inline constexpr std::chrono::seconds kStoreGreetingMax{30};
inline constexpr unsigned kStoreNotesMax = 5;  // log lines about refused connections, of one store
inline constexpr unsigned kStorePortsMax = 8;  // free ports that are tried

}  // namespace robustrun::agent
