#include "agent/evidence/ras_look.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "agent/evidence/ras_client.h"
#include "agent/node/environment.h"
#include "agent/node/limits.h"
#include "base/core/text.h"
#include "wire/net/local_addresses.h"

namespace robustrun::agent {
namespace {

class Looking final : public RasLook {
 public:
  explicit Looking(Done done) : done_(std::move(done)) {}
  ~Looking() override { drop(); }
  Looking(const Looking&) = delete;
  Looking& operator=(const Looking&) = delete;

  void begin(const boost::asio::any_io_executor& executor, const RasAddress& address,
             std::chrono::milliseconds within) {
    awaited_ = address.hosts.size();
    for (const std::string& host : address.hosts) {
      clients_.push_back(RasClient::ask(
          executor, host, address.port, within,
          [this](base::Result<std::string> answer) { on_answer(std::move(answer)); }));
    }
  }

 private:
  void drop() {
    for (const auto& client : clients_) client->drop();
  }

  void on_answer(base::Result<std::string> answer) {
    if (--awaited_ > 0 && !answer) return;
    drop();
    if (answer && answer->size() > kRasSentBytesMax) {
      answer = base::fail(base::Errc::kLimit,
                          fmt::format("the report of NCCL's RAS has {} bytes, more than {}",
                                      answer->size(), kRasSentBytesMax));
    }
    std::exchange(done_, nullptr)(std::move(answer));
  }

  Done done_;
  std::vector<std::shared_ptr<RasClient>> clients_;
  std::size_t awaited_ = 0;
};

}  // namespace

base::Result<RasAddress> ras_address_of(const wire::WorkerTemplate& workers,
                                        const std::string& chosen) {
  const Environment environment(workers.environment);
  if (environment.get("NCCL_RAS_ENABLE") == "0") {
    return base::fail(base::Errc::kUnavailable, "NCCL_RAS_ENABLE=0 switches NCCL's RAS off");
  }
  const std::string text = environment.get(kRasVariable).value_or(chosen);
  const auto local = wire::local_addresses();
  auto address = read_ras_address(text, local.value_or(std::vector<std::string>()));
  if (address) return *std::move(address);
  return base::fail(base::Errc::kInvalidArgument, "NCCL_RAS_ADDR=" + base::printable(text) +
                                                      " is not an address of this machine");
}

std::unique_ptr<RasLook> RasLook::ask(const boost::asio::any_io_executor& executor,
                                      const RasAddress& address, std::chrono::milliseconds within,
                                      Done done) {
  RR_ASSERT(!address.hosts.empty());
  auto looking = std::make_unique<Looking>(std::move(done));
  looking->begin(executor, address, within);
  return looking;
}

}  // namespace robustrun::agent
