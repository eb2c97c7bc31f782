#pragma once
// Channels over connections that were made elsewhere (listener.cpp, dialer.cpp). Private to wire/.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>

#include "wire/link/channel.h"
#include "wire/net/stream.h"

namespace robustrun::wire {

// How far a channel reads before set_handlers() is called on it.
enum class Begin : std::uint8_t {
  kReading,      // all messages, each of at most kMessageBytesMax
  kOneMessage,   // delivers one message of at most kFirstMessageBytesMax, then reads nothing
  kWaiting,      // reads nothing
};

[[nodiscard]] std::shared_ptr<Channel> open_channel(boost::asio::any_io_executor executor,
                                                    Connection connection, Begin begin,
                                                    Channel::Handlers handlers);

}  // namespace robustrun::wire
