#include "wire/link/dialer.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/core/text.h"
#include "wire/link/admission.h"
#include "wire/link/dial.h"
#include "wire/link/stream_channel.h"
#include "wire/tls/identity.h"

namespace robustrun::wire {
namespace {

using base::Errc;
using base::fail;
using boost::system::error_code;

// Kept alive by the Dialer's operations; the Dialer itself is only its owner.
class OngoingDial : public std::enable_shared_from_this<OngoingDial> {
 public:
  OngoingDial(const boost::asio::any_io_executor& executor, Credential credential, Enrol self,
              MungeProofs munge, DialerLimits limits)
      : executor_(executor),
        deadline_(executor),
        credential_(std::move(credential)),
        self_(std::move(self)),
        munge_(std::move(munge)),
        limits_(limits) {}

  void connect(Dialer::Done done);
  void answer(base::Fd connection, Dialer::Done done);
  void set_endpoints(std::vector<std::string> endpoints);
  [[nodiscard]] const std::optional<Identity>& identity() const { return identity_; }
  void stop();
  void hang_up();   // closes connections that others opened to us

 private:
  base::Status prepare();
  void try_next();
  void on_reached(base::Result<Dial::Reached> reached);
  [[nodiscard]] Dialer::Connected connected(Dial::Reached reached);
  void enrol(Dial::Reached reached);
  base::Status prove();
  void on_reply(Message reply);
  base::Status accept(const Enrolled& enrolled);
  base::Status check_proof(const Enrolled& enrolled) const;
  // This endpoint does not work: tries the next one.
  void give_up_endpoint(const base::Error& error);
  [[nodiscard]] base::Error summary() const;
  void finish(base::Result<Dialer::Connected> result);
  [[nodiscard]] const std::string& endpoint() const {
    return credential_.endpoints[(first_ + tried_) % credential_.endpoints.size()];
  }

  boost::asio::any_io_executor executor_;
  boost::asio::steady_timer deadline_;
  Credential credential_;
  Enrol self_;
  MungeProofs munge_;
  DialerLimits limits_;
  Dialer::Done done_;

  std::optional<KeyRequest> key_;   // once generated
  bool enrolled_ = false;
  std::optional<Identity> identity_;  // once enrolled
  base::NodeId node_;
  base::Generation generation_;
  std::shared_ptr<const TlsContext> context_;   // without our certificate until we have enrolled

  std::size_t first_ = 0;   // the endpoint that worked last time
  std::size_t tried_ = 0;   // endpoints tried in this call
  std::vector<base::Error> failures_;
  std::shared_ptr<Dial> dial_;
  std::deque<std::shared_ptr<Dial>> answers_;
  std::shared_ptr<Channel> channel_;   // the one to enrol on
  std::string server_certificate_;     // that it showed
};

void OngoingDial::connect(Dialer::Done done) {
  RR_ASSERT(done && !done_);
  done_ = std::move(done);
  tried_ = 0;
  failures_.clear();
  if (auto prepared = prepare(); !prepared) {
    boost::asio::post(executor_, [self = shared_from_this(), error = std::move(prepared).error()] {
      self->finish(std::unexpected(error));
    });
    return;
  }
  try_next();
}

base::Status OngoingDial::prepare() {
  if (auto same = check_protocol(credential_.protocol, "supervisor"); !same) {
    return fail(Errc::kPermission, same.error().what);
  }
  if (credential_.endpoints.empty()) {
    return fail(Errc::kInvalidArgument, "cannot reach the supervisor: no endpoint is known");
  }
  if (!key_) key_ = RR_TRY(make_key_request());
  if (!context_) {
    TlsContext context = RR_TRY(TlsContext::client(
        std::nullopt,
        {.run_id = credential_.run_id, .authority_fingerprint = credential_.ca_fingerprint}));
    context_ = std::make_shared<const TlsContext>(std::move(context));
  }
  return {};
}

void OngoingDial::stop() {
  done_ = nullptr;
  deadline_.cancel();
  if (dial_) dial_->cancel();
  if (channel_) channel_->close();
}

void OngoingDial::hang_up() {
  for (const auto& dial : std::exchange(answers_, {})) dial->cancel();
}

void OngoingDial::try_next() {
  if (tried_ >= credential_.endpoints.size()) return finish(std::unexpected(summary()));
  dial_ = Dial::start(executor_, endpoint(), context_, limits_,
                      [weak = weak_from_this()](base::Result<Dial::Reached> reached) {
                        if (const auto self = weak.lock()) self->on_reached(std::move(reached));
                      });
}

void OngoingDial::on_reached(base::Result<Dial::Reached> reached) {
  dial_.reset();
  if (!reached) return give_up_endpoint(reached.error());
  if (!enrolled_) return enrol(*std::move(reached));
  first_ = (first_ + tried_) % credential_.endpoints.size();
  finish(connected(*std::move(reached)));
}

void OngoingDial::answer(base::Fd connection, Dialer::Done done) {
  if (!enrolled_) return done(fail(Errc::kUnavailable, "we have not enrolled yet"));
  if (answers_.size() == kAnswersMax) {
    answers_.front()->cancel();
    answers_.pop_front();
  }
  // Identified by its address: it is in the list as long as its callback may come.
  struct Mine {
    const Dial* dial = nullptr;
    bool is_over = false;
  };
  auto mine = std::make_shared<Mine>();
  auto dial = Dial::over(
      executor_, std::move(connection), context_, limits_,
      [weak = weak_from_this(), mine, done = std::move(done)](base::Result<Dial::Reached> reached) {
        mine->is_over = true;
        const auto self = weak.lock();
        if (!self) return;
        std::erase_if(self->answers_, [&](const auto& each) { return each.get() == mine->dial; });
        if (!reached) return done(std::unexpected(reached.error()));
        done(self->connected(*std::move(reached)));
      });
  if (mine->is_over) return;  // its callback came before it was in the list
  mine->dial = dial.get();
  answers_.push_back(std::move(dial));
}

void OngoingDial::set_endpoints(std::vector<std::string> endpoints) {
  if (endpoints == credential_.endpoints) return;
  credential_.endpoints = std::move(endpoints);
  first_ = 0;
}

Dialer::Connected OngoingDial::connected(Dial::Reached reached) {
  std::string supervisor = reached.tls->peer_fingerprint();
  return {.channel = open_channel(executor_, std::move(reached.connection), Begin::kWaiting, {}),
          .addresses = std::move(reached.addresses),
          .node = node_,
          .generation = generation_,
          .run_id = credential_.run_id,
          .supervisor = std::move(supervisor)};
}

void OngoingDial::enrol(Dial::Reached reached) {
  server_certificate_ = reached.tls->peer_fingerprint();
  if (auto proved = prove(); !proved) return finish(std::unexpected(std::move(proved).error()));
  const std::weak_ptr<OngoingDial> weak = weak_from_this();
  channel_ = open_channel(executor_, std::move(reached.connection), Begin::kOneMessage,
                          {.on_message =
                               [weak](Message reply) {
                                 if (const auto self = weak.lock())
                                   self->on_reply(std::move(reply));
                               },
                           .on_closed =
                               [weak](const base::Error& error) {
                                 if (const auto self = weak.lock()) self->give_up_endpoint(error);
                               },
                           .on_drained = nullptr});
  channel_->send(self_);
  deadline_.expires_after(limits_.handshake_max);
  deadline_.async_wait([weak](error_code error) {
    const auto self = weak.lock();
    if (error || !self) return;
    self->give_up_endpoint({Errc::kTimeout, 0, "it did not answer our enrolment"});
  });
}

base::Status OngoingDial::prove() {
  self_.run_id = credential_.run_id;
  self_.node = credential_.node;
  self_.generation = credential_.generation;
  self_.request = key_->request;
  self_.nonce = make_token();
  self_.proof.clear();
  if (!credential_.token.empty()) {
    self_.proof_kind = ProofKind::kSecret;
    self_.proof = agent_proof(credential_.token, self_, server_certificate_);
  } else if (munge_.make && munge_.check) {
    self_.proof_kind = ProofKind::kMunge;
    self_.proof = RR_TRY(munge_.make(agent_digest(self_, server_certificate_)));
  } else {
    self_.proof_kind = ProofKind::kNone;
  }
  return {};
}

void OngoingDial::on_reply(Message reply) {
  if (const auto* refused = std::get_if<Refused>(&reply)) {
    const std::string text = "the supervisor refused us: " +
                             base::printable(refused->text.substr(0, kRefusalTextBytesMax));
    const Errc code = refused->final ? Errc::kPermission : Errc::kUnavailable;
    // Before the run's CA is known, any host may have sent this.
    if (refused->final && !credential_.ca_fingerprint.empty()) return finish(fail(code, text));
    return give_up_endpoint({code, 0, text});
  }
  const auto* const enrolled = std::get_if<Enrolled>(&reply);
  if (enrolled == nullptr) {
    return give_up_endpoint({Errc::kProtocol, 0, "it answered our enrolment with something else"});
  }
  if (auto accepted = accept(*enrolled); !accepted) return give_up_endpoint(accepted.error());
  deadline_.cancel();
  std::exchange(channel_, nullptr)->close();
  enrolled_ = true;
  try_next();  // the same endpoint, now with a certificate
}

base::Status OngoingDial::check_proof(const Enrolled& enrolled) const {
  switch (self_.proof_kind) {
    case ProofKind::kSecret:
      if (same_proof(enrolled.proof, supervisor_proof(credential_.token, self_, enrolled))) {
        return {};
      }
      return fail(Errc::kPermission, "the supervisor there does not know the secret");
    case ProofKind::kMunge: return munge_.check(enrolled.proof, supervisor_digest(self_, enrolled));
    case ProofKind::kNone: break;
  }
  return {};
}

base::Status OngoingDial::accept(const Enrolled& enrolled) {
  if (auto proved = check_proof(enrolled); !proved) return proved;
  const std::string fingerprint = RR_TRY(authority_fingerprint(enrolled.authority));
  if ((!credential_.ca_fingerprint.empty() && fingerprint != credential_.ca_fingerprint) ||
      (credential_.node &&
       (enrolled.node != *credential_.node || enrolled.generation != credential_.generation))) {
    return fail(Errc::kProtocol, "it issued a certificate that does not match our request");
  }
  Identity identity{.private_key = key_->private_key,
                    .certificate = enrolled.certificate,
                    .authority = enrolled.authority};
  TlsContext context = RR_TRY(TlsContext::client(
      identity, {.run_id = credential_.run_id, .authority_fingerprint = fingerprint}));
  context_ = std::make_shared<const TlsContext>(std::move(context));
  credential_.ca_fingerprint = fingerprint;
  credential_.token.clear();
  identity_ = std::move(identity);
  node_ = enrolled.node;
  generation_ = enrolled.generation;
  return {};
}

void OngoingDial::give_up_endpoint(const base::Error& error) {
  deadline_.cancel();
  if (channel_) std::exchange(channel_, nullptr)->close();
  failures_.push_back({error.code, error.os_errno, endpoint() + ": " + error.what});
  ++tried_;
  try_next();
}

base::Error OngoingDial::summary() const {
  base::Error error{Errc::kUnavailable, failures_.back().os_errno, "cannot reach the supervisor: "};
  for (const Errc code : {Errc::kPermission, Errc::kTimeout}) {
    if (std::ranges::all_of(failures_, [code](const auto& each) { return each.code == code; })) {
      error.code = code;
    }
  }
  for (std::size_t i = 0; i < failures_.size(); ++i) {
    error.what += (i > 0 ? "; " : "") + failures_[i].what;
  }
  return error;
}

void OngoingDial::finish(base::Result<Dialer::Connected> result) {
  const Dialer::Done done = std::exchange(done_, nullptr);
  stop();
  if (done) done(std::move(result));
}

class TlsDialer final : public Dialer {
 public:
  explicit TlsDialer(std::shared_ptr<OngoingDial> dial) : dial_(std::move(dial)) {}
  TlsDialer(const TlsDialer&) = delete;
  TlsDialer& operator=(const TlsDialer&) = delete;
  ~TlsDialer() override {
    dial_->stop();
    dial_->hang_up();
  }

  void connect(Done done) override { dial_->connect(std::move(done)); }
  void answer(base::Fd connection, Done done) override {
    dial_->answer(std::move(connection), std::move(done));
  }
  void set_endpoints(std::vector<std::string> endpoints) override {
    dial_->set_endpoints(std::move(endpoints));
  }
  [[nodiscard]] const std::optional<Identity>& identity() const override {
    return dial_->identity();
  }

 private:
  std::shared_ptr<OngoingDial> dial_;
};

}  // namespace

std::unique_ptr<Dialer> Dialer::make(boost::asio::any_io_executor executor, Credential credential,
                                     Enrol self, MungeProofs munge, DialerLimits limits) {
  return std::make_unique<TlsDialer>(std::make_shared<OngoingDial>(
      executor, std::move(credential), std::move(self), std::move(munge), limits));
}

}  // namespace robustrun::wire
