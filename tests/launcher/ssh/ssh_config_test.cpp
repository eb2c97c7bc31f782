#include "launcher/ssh/config.h"

#include <doctest/doctest.h>

#include <string>

#include "launcher/hosts/limits.h"

namespace robustrun::launcher::ssh_config_test {
namespace {

using Strict = SshSettings::StrictHostKeys;
using Files = std::vector<std::string>;

// What OpenSSH 9.2 prints for a host without settings, reduced to keywords that are read here.
constexpr const char* kPlain = R"(host node1
user ada
hostname node1.example.org
port 2222
addressfamily any
batchmode no
controlmaster false
gssapiauthentication yes
hashknownhosts yes
identitiesonly no
pubkeyauthentication true
requesttty auto
stricthostkeychecking ask
verifyhostkeydns false
ciphers chacha20-poly1305@openssh.com,aes128-ctr,aes192-ctr,aes256-ctr
hostkeyalgorithms ssh-ed25519-cert-v01@openssh.com,ssh-ed25519,rsa-sha2-512
kexalgorithms sntrup761x25519-sha512@openssh.com,curve25519-sha256
macs umac-64-etm@openssh.com,hmac-sha2-256
securitykeyprovider internal
identityfile ~/.ssh/id_rsa
identityfile ~/.ssh/id_ed25519
canonicaldomains none
globalknownhostsfile /etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2
userknownhostsfile /home/ada/.ssh/known_hosts /home/ada/.ssh/known_hosts2
sendenv LANG
streamlocalbindmask 0177
)";

SshSettings parse(const std::string& text) {
  return parse_ssh_settings(text, "/home/ada", "me").value();
}

std::string reason(const std::string& more) { return parse(kPlain + more).needs_openssh; }

std::string error_of(const std::string& text) {
  const auto settings = parse_ssh_settings(text, "/home/ada", "me");
  return settings ? "no error" : settings.error().what;
}

}  // namespace

TEST_CASE("a plain host can be served by libssh2") {
  const SshSettings settings = parse(kPlain);
  CHECK(settings.hostname == "node1.example.org");
  CHECK(settings.port == 2222);
  CHECK(settings.user == "ada");
  CHECK(settings.family == SshSettings::Family::kAny);
  CHECK(settings.identity_files == Files{"/home/ada/.ssh/id_rsa", "/home/ada/.ssh/id_ed25519"});
  CHECK(settings.certificate_files.empty());
  CHECK(settings.user_known_hosts_files ==
        Files{"/home/ada/.ssh/known_hosts", "/home/ada/.ssh/known_hosts2"});
  CHECK(settings.global_known_hosts_files ==
        Files{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"});
  CHECK(settings.strict_host_keys == Strict::kYes);
  CHECK(settings.hash_known_hosts);
  CHECK(settings.host_key_alias.empty());
  CHECK(settings.identity_agent.empty());
  CHECK_FALSE(settings.identities_only);
  CHECK(settings.ciphers == "chacha20-poly1305@openssh.com,aes128-ctr,aes192-ctr,aes256-ctr");
  CHECK(settings.macs == "umac-64-etm@openssh.com,hmac-sha2-256");
  CHECK(settings.key_exchanges == "sntrup761x25519-sha512@openssh.com,curve25519-sha256");
  CHECK(settings.host_key_algorithms ==
        "ssh-ed25519-cert-v01@openssh.com,ssh-ed25519,rsa-sha2-512");
  CHECK(settings.jump_host.empty());
  CHECK(settings.needs_openssh.empty());
}

TEST_CASE("only a host name is required; a newer ssh may print anything else") {
  const SshSettings settings = parse("\nhostname h\r\nbrandnew thing\nempty\n\n");
  CHECK(settings.hostname == "h");
  CHECK(settings.port == 22);
  CHECK(settings.user == "me");
  CHECK(settings.needs_openssh.empty());
}

TEST_CASE("features that only OpenSSH has are named") {
  CHECK(reason("proxyjump ops@bastion:22,inner\n") == "its ssh configuration has a ProxyJump");
  CHECK(reason("proxycommand ssh -W %h:%p b\n") == "its ssh configuration has a ProxyCommand");
  CHECK(reason("certificatefile ~/.ssh/c.pub\n") == "its ssh configuration has a CertificateFile");
  CHECK(reason("pkcs11provider /usr/lib/x.so\n") == "its ssh configuration has a PKCS11Provider");
  CHECK(reason("knownhostscommand /bin/kh\n") == "its ssh configuration has a KnownHostsCommand");
  CHECK(reason("revokedhostkeys ~/gone\n") == "its ssh configuration has a RevokedHostKeys");
  CHECK(reason("bindaddress 10.0.0.1\n") == "its ssh configuration has a BindAddress");
  CHECK(reason("bindinterface eth0\n") == "its ssh configuration has a BindInterface");
  CHECK(reason("pubkeyauthentication false\n").find("forbids public keys") != std::string::npos);
  CHECK(reason("verifyhostkeydns true\n").find("VerifyHostKeyDNS") != std::string::npos);
  CHECK(reason("ciphers chacha20-poly1305@openssh.com\n") ==
        "its ssh configuration allows none of libssh2's Ciphers");
  CHECK(reason("macs umac-128-etm@openssh.com\n").find("MACs") != std::string::npos);
  CHECK(reason("kexalgorithms sntrup761x25519-sha512\n").find("Kex") != std::string::npos);
  CHECK(reason("hostkeyalgorithms rsa-sha2-512\n").find("HostKeyAlg") != std::string::npos);
  CHECK(reason("identityfile ~/.ssh/%C\n") ==
        "only ssh knows what its IdentityFile '~/.ssh/%C' stands for");
  CHECK(reason("identityagent $AGENT\n") ==
        "only ssh knows what its IdentityAgent '$AGENT' stands for");
  CHECK(reason("proxyjump none\nproxycommand none\nrevokedhostkeys none\n").empty());
}

TEST_CASE("hosts behind one bastion have one jump host") {
  CHECK(parse(std::string(kPlain) + "proxyjump ops@bastion:22,inner\n").jump_host ==
        "ops@bastion:22");
  CHECK(parse(std::string(kPlain) + "proxycommand ssh -W %h:%p b\n").jump_host == "ssh -W %h:%p b");
}

TEST_CASE("host key policy") {
  const auto strict = [](const std::string& value) {
    return parse("hostname h\nstricthostkeychecking " + value + "\n").strict_host_keys;
  };
  for (const char* value : {"ask", "true", "yes", "something"})
    CHECK(strict(value) == Strict::kYes);
  for (const char* value : {"false", "no", "off"}) CHECK(strict(value) == Strict::kNo);
  CHECK(strict("accept-new") == Strict::kAcceptNew);
  CHECK(parse("hostname h\nhostkeyalias cluster\n").host_key_alias == "cluster");
  CHECK(parse("hostname h\naddressfamily inet6\n").family == SshSettings::Family::kIpv6);
  CHECK(parse("hostname h\naddressfamily inet\n").family == SshSettings::Family::kIpv4);
}

TEST_CASE("files: none, several, tokens") {
  const SshSettings settings = parse(
      "identityfile ~/%h/%n/%p/%r/%u/%%\nidentityfile none\nidentityfile %d/k\n"
      "globalknownhostsfile none\nuserknownhostsfile ~/kh /dev/null\nidentityagent none\n"
      "identitiesonly yes\nhost n1\nhostname n1.cluster\nport 24\nuser ada\n");
  CHECK(settings.identity_files == Files{"/home/ada/n1.cluster/n1/24/ada/me/%", "/home/ada/k"});
  CHECK(settings.global_known_hosts_files.empty());
  CHECK(settings.user_known_hosts_files == Files{"/home/ada/kh", "/dev/null"});
  CHECK(settings.identity_agent == "none");
  CHECK(settings.identities_only);
  CHECK(parse("hostname h\nidentityagent ~/a.sock\n").identity_agent == "/home/ada/a.sock");
  CHECK(parse("hostname h\nidentityagent SSH_AUTH_SOCK\n").identity_agent.empty());
}

TEST_CASE("output that is not from ssh -G is refused") {
  CHECK(error_of("") == "cannot read what ssh -G printed: it names no host to connect to");
  CHECK(error_of("hostname h\nport x\n") == "cannot read what ssh -G printed: 'x' is not a port");
  CHECK(error_of("hostname h\nport 0\n").find("is not a port") != std::string::npos);
  CHECK(error_of(std::string(kSshConfigBytesMax + 1, '\n')).find("longer than") !=
        std::string::npos);
}

TEST_CASE("a configuration with too many files is left to OpenSSH") {
  std::string text = "hostname h\n";
  for (std::size_t i = 0; i < kSshConfigFilesMax; ++i) text += "identityfile /k\n";
  CHECK(parse(text).needs_openssh.empty());
  const SshSettings settings = parse(text + "identityfile /k\n");
  CHECK(settings.identity_files.size() == kSshConfigFilesMax);
  CHECK(settings.needs_openssh == "its ssh configuration has more than 64 IdentityFiles");
}

TEST_CASE("without an ssh client OpenSSH's defaults apply") {
  const SshSettings plain = default_settings({"node1", "", 0, 0}, "/home/ada", "ada");
  CHECK(plain.hostname == "node1");
  CHECK(plain.port == 22);
  CHECK(plain.user == "ada");
  CHECK(plain.identity_files ==
        Files{"/home/ada/.ssh/id_rsa", "/home/ada/.ssh/id_ecdsa", "/home/ada/.ssh/id_ed25519"});
  CHECK(plain.user_known_hosts_files ==
        Files{"/home/ada/.ssh/known_hosts", "/home/ada/.ssh/known_hosts2"});
  CHECK(plain.strict_host_keys == Strict::kYes);
  CHECK(plain.needs_openssh.empty());
  const SshSettings given = default_settings({"[::1]", "bob", 2200, 0}, "/home/ada", "ada");
  CHECK(given.hostname == "::1");
  CHECK(given.port == 2200);
  CHECK(given.user == "bob");
}

}  // namespace robustrun::launcher::ssh_config_test
