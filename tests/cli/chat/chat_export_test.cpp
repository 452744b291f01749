#include "cli/chat/chat_export.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace anedvd {
namespace {

using Json = nlohmann::ordered_json;

ChatLog some_chat() {
  ChatLog log;
  log.id = "chat";
  log.system = "Be brief.";
  log.model = "tiny";
  log.add("user", "What is \"it\"?\nTell me.", 1000);
  log.add("assistant", "A thing \xe6\x97\xa5.", 2000).state = "stopped";
  log.step_back_to_question();
  log.add("assistant", "Another thing.", 3000).completion_tokens = 3;
  log.settings = R"({"temperature":0.5})";
  return log;
}

std::vector<std::string> texts(const ChatLog& log) {
  std::vector<std::string> out;
  for (const size_t index : log.branch) out.push_back(log.messages[index].role + ": " + log.messages[index].text);
  return out;
}

std::string problem_of(std::string_view text) {
  const auto import = import_chats(text, "x.json");
  return import ? "" : import.error().message;
}

TEST(ChatExport, HasThePagesFields) {
  const Json file = *parse_ordered_json(export_chat(some_chat(), 1764456870000), "export");
  EXPECT_EQ(file["format"], "anedvd-chats");
  EXPECT_EQ(file["version"], 1);
  EXPECT_EQ(file["exported"], "2025-11-29T22:54:30Z");
  const Json& chat = file["conversations"][0];
  for (const char* key :
       {"id", "title", "titled", "created", "updated", "model", "system", "leaf", "pinned", "settings", "messages"})
    EXPECT_TRUE(chat.contains(key)) << key;
  EXPECT_EQ(chat["title"], "What is \"it\"?");
  ASSERT_EQ(chat["messages"].size(), 3u);
  const Json& messages = chat["messages"];
  EXPECT_TRUE(messages[0]["parent"].is_null());
  EXPECT_EQ(messages[1]["parent"], messages[0]["id"]);
  EXPECT_EQ(messages[2]["parent"], messages[0]["id"]) << "another answer is a sibling";
  EXPECT_EQ(chat["leaf"], messages[2]["id"]);
  EXPECT_EQ(messages[1]["state"], "stopped");
}

TEST(ChatExport, ComesBackAsItWas) {
  const std::string text = export_chat(some_chat(), 5000);
  const auto import = import_chats(text, "x.json");
  ASSERT_TRUE(import);
  ASSERT_EQ(import->chats.size(), 1u);
  EXPECT_EQ(texts(import->chats[0]),
            (std::vector<std::string>{"user: What is \"it\"?\nTell me.", "assistant: Another thing."}));
  EXPECT_EQ(import->chats[0].system, "Be brief.");
  EXPECT_EQ(export_chat(import->chats[0], 5000), text);
}

TEST(ChatImport, TakesAnExportOfThePage) {
  // As the page writes it: records of its database, among them fields that the terminal does not know.
  const auto import = import_chats(
      R"({"format":"anedvd-chats","version":1,"exported":"2026-01-01T00:00:00.000Z","app":"anedvd 0.1.0","conversations":[
    {"id":"old","title":"Old","titled":"user","created":1,"updated":10,"model":"m","system":"","leaf":"a","pinned":true,"settings":{},
     "messages":[{"id":"a","conv":"old","parent":null,"role":"user","text":"old question","reasoning":null,"state":"complete","created":1}]},
    {"id":"new","title":"New","titled":"auto","created":2,"updated":20.5,"model":"m","system":"S","leaf":"n3","settings":{"temperature":0.2,"strange":[1]},
     "messages":[{"id":"n3","parent":"n1","role":"assistant","text":"second answer","reasoning":"thoughts","state":"generating","logprobs":[],"timings":{}},
                 {"id":"n1","parent":null,"role":"user","text":"question","state":"complete"},
                 {"id":"n2","parent":"n1","role":"assistant","text":"first answer","state":"complete","finish":"stop"}]}],"settings":{"v":1}})",
      "x.json");
  ASSERT_TRUE(import) << import.error().message;
  ASSERT_EQ(import->chats.size(), 2u);
  const ChatLog& log = import->chats[1];
  EXPECT_EQ(texts(log), (std::vector<std::string>{"user: question", "assistant: second answer"}));
  EXPECT_EQ(log.messages.size(), 3u);
  EXPECT_EQ(log.last()->state, "interrupted");
  EXPECT_EQ(log.last()->reasoning, "thoughts");
  EXPECT_TRUE(import->chats[0].is_pinned);
}

TEST(ChatImport, TakesBareMessages) {
  const auto import = import_chats(
      R"({"messages":[{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"}]},
          {"role":"tool","content":"x"},{"role":"assistant","content":"b"}]})",
      "x.json");
  ASSERT_TRUE(import) << import.error().message;
  EXPECT_EQ(import->chats[0].system, "S");
  EXPECT_EQ(texts(import->chats[0]), (std::vector<std::string>{"user: a", "assistant: b"}));
}

TEST(ChatImport, RepairsCirclesMissingParentsAndIds) {
  const auto circle = import_chats(
      R"({"messages":[{"id":"a","parent":"b","role":"user","text":"1"},{"id":"b","parent":"a","role":"assistant","text":"2"},
          {"id":"c","parent":"gone","role":"user","text":"3"},{"id":"d","parent":"d","role":"user","text":"4"}]})",
      "x.json");
  ASSERT_TRUE(circle);
  EXPECT_EQ(circle->chats[0].messages.size(), 4u);
  EXPECT_EQ(texts(circle->chats[0]), (std::vector<std::string>{"user: 4"}));

  const auto twice = import_chats(
      R"({"messages":[{"id":"a","role":"user","text":"1"},{"id":"a","role":"assistant","text":"2"},{"role":"user","text":"3"}]})",
      "x.json");
  ASSERT_TRUE(twice);
  EXPECT_EQ(texts(twice->chats[0]), (std::vector<std::string>{"user: 1", "assistant: 2", "user: 3"}));
}

TEST(ChatImport, OneBadChatDoesNotStopTheRest) {
  const auto import = import_chats(
      R"({"format":"anedvd-chats","version":1,"conversations":[{"messages":[{"role":"user","text":"a"},{"role":"user"}]},
          7,{"messages":[{"role":"user","text":"good"}]}]})",
      "x.json");
  ASSERT_TRUE(import);
  EXPECT_EQ(import->problems, (std::vector<std::string>{"chat 1: message 2 has no text", "chat 2: it is no object"}));
  EXPECT_EQ(texts(import->chats.at(0)), (std::vector<std::string>{"user: good"}));
}

TEST(ChatImport, SaysWhatIsWrong) {
  EXPECT_NE(problem_of("{"), "");
  EXPECT_EQ(problem_of("[]"), "x.json: no chat in it; give a file of /save or of the page's Export");
  EXPECT_EQ(problem_of(R"({"messages":[]})"), "x.json: it has no messages");
  EXPECT_EQ(problem_of(R"({"messages":[{"role":"user"}]})"), "x.json: message 1 has no text");
  EXPECT_EQ(problem_of(R"({"format":"anedvd-chats","version":2,"conversations":[]})"),
            "x.json: version 2 of the chat format; this anedvd reads 1");
}

TEST(ChatImport, DeepTreesTakeNoStack) {
  Json messages = Json::array();
  for (int i = 0; i < 50000; ++i)
    messages.push_back({{"id", std::to_string(i)},
                        {"parent", i > 0 ? Json(std::to_string(i - 1)) : Json()},
                        {"role", "user"},
                        {"text", "x"}});
  const auto import = import_chats(Json{{"messages", messages}}.dump(), "x.json");
  ASSERT_TRUE(import);
  EXPECT_EQ(import->chats[0].branch.size(), 50000u);
}

TEST(ChatLog, UndoForgetsTheTurnWithAllItsAnswers) {
  ChatLog log = some_chat();
  log.add("user", "more", 4000);
  log.add("assistant", "yes", 5000);
  EXPECT_TRUE(log.forget_last_turn());
  EXPECT_EQ(texts(log).back(), "assistant: Another thing.");
  EXPECT_TRUE(log.forget_last_turn());
  EXPECT_TRUE(log.messages.empty());
  EXPECT_FALSE(log.forget_last_turn());
}

}  // namespace
}  // namespace anedvd
