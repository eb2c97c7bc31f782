#include "agent/evidence/node_ras.h"

#include <chrono>

#include "agent/evidence/ras_address.h"
#include "agent/evidence/tracer_library.h"
#include "agent/node/environment.h"
#include "agent/process/port.h"
#include "base/io/log.h"

namespace robustrun::agent {

void NodeRas::begin_attempt() {
  look_.reset();
  address_.clear();
  if (tracer_library(node_.workers).empty()) return;
  if (Environment(node_.workers.environment).get(kRasVariable)) return;
  if (const auto port = reserve_port(rng_)) {
    address_ = ras_address_text(*port);
  } else {
    RR_LOG(kWarn, {}, "NCCL's RAS keeps its default port: {}", port.error().what);
  }
}

void NodeRas::ask(const wire::Observe& question, bool in_use) {
  if (!in_use) return answer(question, std::string());
  const auto address = ras_address_of(node_.workers, address_);
  if (!address) return answer(question, std::unexpected(address.error()));
  look_ = RasLook::ask(
      node_.executor, *address,
      std::chrono::duration_cast<std::chrono::milliseconds>(question.within),
      [this, question](const base::Result<std::string>& report) { answer(question, report); });
}

void NodeRas::answer(const wire::Observe& question, const base::Result<std::string>& report) const {
  wire::RasAnswer message{question.number, question.attempt, {}, {}, address_.empty()};
  (report ? message.report : message.missing) = report ? *report : report.error().what;
  node_.send(message);
}

}  // namespace robustrun::agent
