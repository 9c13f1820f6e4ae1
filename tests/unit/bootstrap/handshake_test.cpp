// The proof of the key, message by message: who is let in, who is not.
#include "bootstrap/handshake.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace isotope::bootstrap {
namespace {

using Next = ServerHandshake::Next;

struct Handshake : ::testing::Test {
  Key key = Key::random();
  JobId job = random_job_id();

  Hello hello(int rank = 1, int size = 4) {
    Hello one;
    one.rank = rank;
    one.size = size;
    one.job = job;
    one.nonce = random_nonce();
    one.host = "here";
    return one;
  }
};

TEST_F(Handshake, TheRightKeyOnBothSides) {
  ServerHandshake server(&key, job);
  ClientHandshake client(&key, hello());
  ASSERT_EQ(server.on_frame(client.hello()), Next::wait);
  ASSERT_FALSE(client.on_frame(*server.reply()));
  ASSERT_EQ(server.on_frame(*client.reply()), Next::admit);
  EXPECT_EQ(server.hello().rank, 1);
  EXPECT_TRUE(client.on_frame(server.welcome()));
}

TEST_F(Handshake, WrongKeyOfThePe) {
  const Key other = Key::random();
  ServerHandshake server(&key, job);
  ClientHandshake client(&other, hello());
  server.on_frame(client.hello());
  client.on_frame(*server.reply());
  EXPECT_EQ(server.on_frame(*client.reply()), Next::stranger);
  const Error error = testing::error_of([&] { client.on_frame(*server.reply()); });
  EXPECT_EQ(error.code(), Code::refused);
}

TEST_F(Handshake, WrongKeyOfTheRoot) {
  const Key other = Key::random();
  ServerHandshake imposter(&other, job);
  ClientHandshake client(&key, hello());
  imposter.on_frame(client.hello());
  client.on_frame(*imposter.reply());
  EXPECT_EQ(testing::error_of([&] { client.on_frame(imposter.welcome()); }).code(), Code::refused);
}

TEST_F(Handshake, AReflectedProofIsNoWelcome) {
  // A root without the key sends the PE's own proof back.
  ClientHandshake client(&key, hello());
  client.on_frame(Challenge{random_nonce()});
  const Mac own = std::get<Proof>(*client.reply()).mac;
  EXPECT_EQ(testing::error_of([&] { client.on_frame(Welcome{own}); }).code(), Code::refused);
  // And the PE's hello with the root's role is no proof either.
  ServerHandshake server(&key, job);
  const Hello mine = hello();
  server.on_frame(mine);
  const Nonce nonce = std::get<Challenge>(*server.reply()).nonce;
  EXPECT_EQ(server.on_frame(Proof{prove(key, Role::root, mine, nonce)}), Next::stranger);
}

TEST_F(Handshake, AReplayedConversationIsRefused) {
  ServerHandshake first(&key, job);
  ClientHandshake client(&key, hello());
  first.on_frame(client.hello());
  client.on_frame(*first.reply());
  const Frame recorded_hello = client.hello();
  const Frame recorded_proof = *client.reply();
  ASSERT_EQ(first.on_frame(recorded_proof), Next::admit);
  ServerHandshake second(&key, job);
  ASSERT_EQ(second.on_frame(recorded_hello), Next::wait);
  EXPECT_EQ(second.on_frame(recorded_proof), Next::stranger);
}

TEST_F(Handshake, TheProofIsForThisRankSizeAndVersion) {
  const Nonce nonce = random_nonce();
  const Hello mine = hello();
  const Mac mac = prove(key, Role::pe, mine, nonce);
  EXPECT_TRUE(same_mac(mac, prove(key, Role::pe, mine, nonce)));
  Hello other = mine;
  other.rank = 2;
  EXPECT_FALSE(same_mac(mac, prove(key, Role::pe, other, nonce)));
  other = mine;
  other.size = 5;
  EXPECT_FALSE(same_mac(mac, prove(key, Role::pe, other, nonce)));
  EXPECT_FALSE(same_mac(mac, prove(key, Role::pe, mine, nonce, Dialect{kProtocolVersion + 1, kFeatures})));
  EXPECT_FALSE(same_mac(mac, prove(key, Role::pe, mine, nonce, Dialect{kProtocolVersion, kFeatures + 1})));
  EXPECT_FALSE(same_mac(mac, prove(key, Role::pe, mine, random_nonce())));
}

TEST_F(Handshake, OutOfOrderAndForeignJobsAreDropped) {
  EXPECT_EQ(ServerHandshake(&key, job).on_frame(Proof{}), Next::drop);
  EXPECT_EQ(ServerHandshake(&key, random_job_id()).on_frame(hello()), Next::drop);
  ServerHandshake server(&key, job);
  server.on_frame(hello());
  EXPECT_EQ(server.on_frame(hello()), Next::drop);
  // A root that skips the challenge proves nothing.
  ClientHandshake client(&key, hello());
  EXPECT_EQ(testing::error_of([&] { client.on_frame(Welcome{}); }).code(), Code::refused);
}

TEST_F(Handshake, NoncesAreFresh) {
  EXPECT_NE(random_nonce(), random_nonce());
  ServerHandshake a(&key, job), b(&key, job);
  const Hello mine = hello();
  a.on_frame(mine);
  b.on_frame(mine);
  EXPECT_NE(std::get<Challenge>(*a.reply()).nonce, std::get<Challenge>(*b.reply()).nonce);
}

}  // namespace
}  // namespace isotope::bootstrap
