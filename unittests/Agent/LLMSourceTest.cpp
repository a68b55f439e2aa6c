//===- LLMSourceTest.cpp - A language model that proposes -----------------===//
//
// Part of the SparseDitto project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sparseditto/Agent/LLMSource.h"
#include "FakeTools.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "sparseditto/Agent/ChatBudget.h"
#include "sparseditto/Agent/PromptText.h"
#include "sparseditto/Agent/StructuredReply.h"
#include "sparseditto/Target/Compile.h"
#include "gtest/gtest.h"
#include <deque>

using namespace sparseditto;
using namespace sparseditto::test;
namespace json = llvm::json;

namespace {
/// Says what it was told to say, and remembers what it was asked.
class ScriptedProvider : public ChatProvider {
public:
  struct Turn {
    std::string text;
    std::vector<ToolCall> calls;
    std::optional<ChatErrorKind> error;
  };
  struct Script {
    std::deque<Turn> turns;
    std::vector<ChatRequest> requests;
  };

  explicit ScriptedProvider(Script &script) : script(script) {}
  std::string name() const override { return "scripted"; }
  llvm::Expected<ChatReply> complete(const ChatRequest &request,
                                     const ChatControl &control) override {
    ChatUsage most;
    most.input = 1000;
    most.output = request.maxOutputTokens;
    auto charge = control.budget->charge(most, nullptr);
    if (!charge)
      return charge.takeError();
    script.requests.push_back(request);
    ChatUsage used;
    used.input = 100;
    used.output = 20;
    control.budget->settle(*charge, used, nullptr);
    if (script.turns.empty())
      return llvm::make_error<ChatError>(ChatErrorKind::Unreachable,
                                         "the script is over");
    Turn turn = script.turns.front();
    script.turns.pop_front();
    if (turn.error)
      return llvm::make_error<ChatError>(*turn.error, "scripted failure");
    ChatReply reply;
    reply.message.role = ChatRole::Assistant;
    reply.message.text = turn.text;
    reply.message.toolCalls = turn.calls;
    reply.usage = used;
    reply.model = "m";
    return reply;
  }

private:
  Script &script;
};

struct Recorder : EventSink {
  void event(llvm::StringRef type, json::Object fields) override {
    types.push_back(type.str());
    events.push_back(std::move(fields));
  }
  size_t count(llvm::StringRef type) const { return llvm::count(types, type); }
  const json::Object &last(llvm::StringRef type) const {
    for (size_t i = types.size(); i-- > 0;)
      if (types[i] == type)
        return events[i];
    static const json::Object none;
    return none;
  }
  std::vector<std::string> types;
  std::vector<json::Object> events;
};

struct LLMSourceTest : testing::Test {
  LLMSourceTest()
      : fixture(patternWeight("nm")), state(fixture.state), tools(state) {
    state.tools = &tools;
    state.events = &events;
    make();
  }
  void make(ChatLimits limits = {}, LLMSourceOptions options = {}) {
    source = createLLMSource(std::make_unique<ScriptedProvider>(script), limits,
                             options);
  }
  void say(std::string text) {
    script.turns.push_back({std::move(text), {}, {}});
  }
  void call(const char *tool, std::string arguments) {
    script.turns.push_back({"", {{"id", tool, std::move(arguments)}}, {}});
  }
  void fail(ChatErrorKind kind) { script.turns.push_back({"", {}, kind}); }
  std::vector<std::string> propose(unsigned k = 4) {
    auto proposals = source->propose(state, k);
    error.clear();
    if (!proposals) {
      error = llvm::toString(proposals.takeError());
      return {"error"};
    }
    std::vector<std::string> texts;
    for (const Proposal &proposal : *proposals)
      texts.push_back(shortText(proposal));
    last = std::move(*proposals);
    return texts;
  }
  const std::string &lastMessage() {
    return script.requests.back().messages.back().text;
  }

  using Texts = std::vector<std::string>;
  StateFixture fixture;
  ProposalState &state;
  FakeTools tools;
  Recorder events;
  ScriptedProvider::Script script;
  std::unique_ptr<ProposalSource> source;
  std::vector<Proposal> last;
  std::string error;
};
} // namespace

static std::string answer(llvm::StringRef proposals) {
  return ("{\"analysis\": \"a\", \"proposals\": [" + proposals + "]}").str();
}

TEST_F(LLMSourceTest, ProposesWhatTheModelSays) {
  say("Here it is:\n```json\n" +
      answer(
          R"({"family": "nm", "knobs": {"prefetch": 8}, "reason": "more\u0007"},
                {"family": "library", "reason": "b"})") +
      "\n```");
  EXPECT_EQ(propose(), (Texts{"nm(prefetch=8)", "library"})) << error;
  EXPECT_GT(last[0].predictedMicroseconds, 0);
  EXPECT_GT(last[1].predictedMicroseconds, 0);
  EXPECT_EQ(last[0].reason, "more\\x07");
  EXPECT_TRUE(source->learns());
  EXPECT_EQ(source->paid()->spentText(), "1 call, 120 tokens");
  EXPECT_EQ(events.types, (Texts{"request", "reply", "cost"}));
  // The prompt, the tools and the schema are what was asked.
  const ChatRequest &request = script.requests[0];
  ASSERT_EQ(request.messages.size(), 2u);
  EXPECT_EQ(request.messages[0].role, ChatRole::System);
  EXPECT_NE(request.messages[1].text.find("# Question"), std::string::npos);
  EXPECT_EQ(request.tools.size(), 3u);
  EXPECT_FALSE(bool(validateJSON(request.response->schema,
                                 answer(R"({"family": "nm", "reason": ""})"))));
  EXPECT_EQ(events.last("reply").getString("text").value_or("").substr(0, 4),
            "Here");
  EXPECT_EQ(events.last("cost").getInteger("calls"), 1);
}

TEST_F(LLMSourceTest, TheWorkedExamplesAreValidAndLegal) {
  LLMSourceOptions options;
  options.prompt.allowRewrites = true;
  Prompt prompt = buildPrompt(state, options.prompt);
  llvm::StringRef system = prompt.system;
  std::string example =
      llvm::cantFail(extractJSON(system.split("Rewriting:").first));
  EXPECT_FALSE(bool(validateJSON(prompt.response.schema, example))) << example;
  auto proposals = llvm::cantFail(readProposals(
      llvm::cantFail(json::parse(example)), acceptingFamilies(state)));
  ASSERT_EQ(proposals.size(), 1u);
  llvm::Error illegal =
      findFamily("nm")->check(proposals[0].strategy, state.problem, 90);
  EXPECT_FALSE(bool(illegal)) << llvm::toString(std::move(illegal));
  std::string edit = answer(system.split("Example of an edit: ").second);
  EXPECT_FALSE(bool(validateJSON(prompt.response.schema, edit))) << edit;
}

TEST_F(LLMSourceTest, AnEmptyListStops) {
  say(answer(""));
  EXPECT_EQ(propose(), Texts{}) << error;
  EXPECT_EQ(error, "");
}

TEST_F(LLMSourceTest, AsksForNoMoreThanMayBeTried) {
  state.budget.candidates = 1;
  say(answer(R"({"family": "nm", "reason": "a"},
                {"family": "library", "reason": "b"})"));
  say(answer(R"({"family": "nm", "reason": "a"})"));
  EXPECT_EQ(propose(), (Texts{"nm"})) << error;
  EXPECT_NE(lastMessage().find("not accepted"), std::string::npos);
  state.budget.candidates = 0;
  EXPECT_EQ(propose(), Texts{});
  EXPECT_EQ(script.requests.size(), 2u) << "no call without candidates";
}

TEST_F(LLMSourceTest, NeverRepeatsItsHistory) {
  state.history = {
      candidateOf(strategyOf("nm", "prefetch", 8), CandidateStatus::Crashed)};
  // Spelled with a default as well: the same proposal.
  say(answer(
      R"({"family": "nm", "knobs": {"prefetch": 8, "stages": 2}, "reason": ""},
                {"family": "nm", "knobs": {"prefetch": 2}, "reason": ""},
                {"family": "nm", "knobs": {"prefetch": 2}, "reason": ""})"));
  EXPECT_EQ(propose(), (Texts{"nm(prefetch=2)"})) << error;
  // At another N it is new.
  state.history[0].n = 1;
  say(answer(R"({"family": "nm", "knobs": {"prefetch": 8}, "reason": ""})"));
  EXPECT_EQ(propose(), (Texts{"nm(prefetch=8)"})) << error;
  // Only repeats: told once or twice, then it has finished.
  state.history[0].n = 16;
  for (int i = 0; i < 3; ++i)
    say(answer(R"({"family": "nm", "knobs": {"prefetch": 8}, "reason": ""})"));
  EXPECT_EQ(propose(), Texts{});
  EXPECT_EQ(error, "");
  EXPECT_NE(lastMessage().find("- nm(prefetch=8) was tried before"),
            std::string::npos)
      << lastMessage();
}

TEST_F(LLMSourceTest, IllegalProposalsComeBackWithTheLegalSet) {
  say(answer(R"({"family": "csr", "knobs": {"tile_n": 256}, "reason": ""})"));
  say(answer(R"({"family": "csr", "knobs": {"tile_n": 16}, "reason": ""})"));
  EXPECT_EQ(propose(), (Texts{"csr(tile_n=16)"})) << error;
  EXPECT_NE(lastMessage().find("csr(tile_n=256) is illegal: family csr: knob "
                               "'tile_n' got 256, expected one of 1, 2, 4"),
            std::string::npos)
      << lastMessage();
  EXPECT_EQ(events.last("illegal").getString("status"), "illegal");
  // Beside a legal one it is left out and recorded.
  say(answer(R"({"family": "csr", "knobs": {"tile_n": 128}, "reason": ""},
                {"family": "csr", "knobs": {"tile_n": 8}, "reason": ""})"));
  EXPECT_EQ(propose(), (Texts{"csr(tile_n=8)"})) << error;
  EXPECT_EQ(events.count("illegal"), 2u);
}

TEST_F(LLMSourceTest, TheThirdInvalidAnswerIsAnError) {
  // A knob of another family passes the schema, so that each is one answer.
  for (int i = 0; i < 3; ++i)
    say(answer(R"({"family": "csr", "knobs": {"stages": 2}, "reason": ""})"));
  EXPECT_EQ(propose(), Texts{"error"});
  EXPECT_EQ(error.find("scripted gave 3 invalid answers, the last one: - "
                       "proposal 1: family csr has no knob 'stages'"),
            0u)
      << error;
  EXPECT_EQ(script.requests.size(), 3u);
  // No JSON at all: repaired once, asked afresh once.
  script.requests.clear();
  for (int i = 0; i < 9; ++i)
    say("I would rather talk about the weather.");
  EXPECT_EQ(propose(), Texts{"error"});
  EXPECT_EQ(error.find("scripted gave 4 invalid answers"), 0u) << error;
  EXPECT_EQ(script.requests.size(), 4u);
  EXPECT_EQ(script.requests[2].messages.size(), 2u) << "asked afresh";
  EXPECT_TRUE(script.requests[2].tools.empty());
  // It is typed.
  script.turns.clear();
  for (int i = 0; i < 9; ++i)
    say("no");
  bool seen = false;
  llvm::handleAllErrors(source->propose(state, 4).takeError(),
                        [&](const ChatError &failed) {
                          seen = failed.kind == ChatErrorKind::InvalidReply;
                        });
  EXPECT_TRUE(seen);
}

TEST_F(LLMSourceTest, RepairsWithTheErrorOnly) {
  say("{\"analysis\": \"a\", \"proposals\": 7}");
  say(answer(R"({"family": "nm", "reason": ""})"));
  EXPECT_EQ(propose(), (Texts{"nm"})) << error;
  EXPECT_LT(lastMessage().size(), 400u) << lastMessage();
  EXPECT_NE(lastMessage().find("/proposals"), std::string::npos)
      << lastMessage();
  // Both turns are in the transcript; the second one with what is new.
  EXPECT_EQ(events.count("request"), 2u);
  EXPECT_EQ(events.count("reply"), 2u);
  EXPECT_EQ(events.last("request").getArray("messages")->size(), 2u);
  EXPECT_EQ(events.last("request").getBoolean("restart"), false);
}

TEST_F(LLMSourceTest, RunsTools) {
  call("describe_family", R"({"family": "csr"})");
  call("show_kernel", R"({"family": "nm", "knobs": {"prefetch": 8},
                          "text": "mlir", "line": 40, "context": 500})");
  call("show_kernel", R"({"family": "nm", "text": "mlir", "line": 0})");
  call("evaluate",
       answer(R"({"family": "nm", "knobs": {"prefetch": 8}, "reason": ""},
                             {"family": "csr", "knobs": {"tile_n": 64}, "reason": ""})"));
  call("evaluate", R"({"proposals": [{"family": "nm", "knobs": {"prefetch": 8},
                       "reason": ""}, {"family": "csr", "knobs": {"tile_n": 64},
                       "reason": ""}]})");
  call("no_such_tool", "{}");
  say(answer(R"({"family": "nm", "knobs": {"prefetch": 2}, "reason": ""})"));
  EXPECT_EQ(propose(), (Texts{"nm(prefetch=2)"})) << error;
  auto result = [&](size_t request) {
    const ChatMessage &message = script.requests[request].messages.back();
    EXPECT_EQ(message.role, ChatRole::Tool);
    EXPECT_EQ(message.toolCallId, "id");
    return message.text;
  };
  EXPECT_NE(result(1).find("bank_order (csr): 8 32"), std::string::npos);
  EXPECT_EQ(tools.shown[0].substr(tools.shown[0].size() - 10), "mlir 40 30");
  EXPECT_NE(tools.shown[0].find("prefetch=8"), std::string::npos);
  EXPECT_NE(result(2).find("lines more"), std::string::npos) << result(2);
  EXPECT_NE(result(3).find("gpu.barrier"), std::string::npos);
  EXPECT_EQ(result(3).find("arith.addi"), std::string::npos);
  EXPECT_LE(estimatePromptTokens(result(3)), 1600);
  EXPECT_EQ(result(4).find("not evaluated: "), 0u) << result(4);
  EXPECT_EQ(result(5).find("nm(prefetch=8): verified, 5.00 us measured"), 0u)
      << result(5);
  EXPECT_NE(result(5).find("csr(tile_n=64) is illegal"), std::string::npos);
  EXPECT_EQ(state.history.size(), 1u);
  EXPECT_EQ(result(6).find("there is no tool \"no_such_tool\"; there are "
                           "evaluate, describe_family, show_kernel\n"),
            0u)
      << result(6);
  EXPECT_EQ(events.count("tool"), 6u);
  EXPECT_EQ(events.last("tool").getString("name"), "no_such_tool");
}

TEST_F(LLMSourceTest, LimitsToolCalls) {
  LLMSourceOptions options;
  options.prompt.toolCalls = 2;
  make({}, options);
  for (int i = 0; i < 20; ++i)
    call("describe_family", R"({"family": "nm"})");
  EXPECT_EQ(propose(), Texts{"error"});
  EXPECT_EQ(error, "scripted goes on calling tools after the limit of 2");
  EXPECT_EQ(script.requests.size(), 5u);
  EXPECT_NE(script.requests[2].messages.back().text.find("last call"),
            std::string::npos);
  EXPECT_EQ(script.requests[3].messages.back().text,
            "no more tools in this round: answer now\n");
}

TEST_F(LLMSourceTest, BadToolArgumentsAreAnswered) {
  call("evaluate", "{broken");
  call("evaluate", "[]");
  call("evaluate", R"({"proposals": [{"family": "nm", "knobs": {"magic": 1},
                       "reason": ""}]})");
  call("show_kernel", R"({"family": "nm", "knobs": {"schedule": "?"}})");
  call("describe_family", R"({"family": 3})");
  say(answer(""));
  EXPECT_EQ(propose(), Texts{}) << error;
  EXPECT_EQ(error, "");
  auto result = [&](size_t request) {
    return script.requests[request].messages.back().text;
  };
  EXPECT_EQ(result(1), "the arguments are not a JSON object\n");
  EXPECT_EQ(result(2), "the arguments are not a JSON object\n");
  EXPECT_EQ(result(3).find("not evaluated: "), 0u) << result(3);
  EXPECT_NE(result(4).find("knob 'schedule' got '?'"), std::string::npos);
  EXPECT_EQ(result(5), "unknown family ''\n");
}

TEST_F(LLMSourceTest, SubmittingWhatWasEvaluatedStops) {
  call("evaluate", R"({"proposals": [{"family": "nm", "reason": ""}]})");
  say(answer(R"({"family": "nm", "reason": "the best"})"));
  EXPECT_EQ(propose(), Texts{}) << error;
  EXPECT_EQ(error, "");
  EXPECT_EQ(state.history.size(), 1u);
}

TEST_F(LLMSourceTest, Rewrites) {
  LLMSourceOptions options;
  options.prompt.allowRewrites = true;
  make({}, options);
  say(answer(
      R"({"family": "nm", "edits": [{"before": "a", "after": "b"}], "reason": ""})"));
  propose();
  ASSERT_EQ(last.size(), 1u) << error;
  ASSERT_TRUE(last[0].rewrite);
  EXPECT_EQ(last[0].rewrite->symbol, "sd_kernel");
  EXPECT_EQ(last[0].rewrite->base, strategyOf("nm"));
  // Where it is not allowed the schema has no edits.
  make();
  say(answer(
      R"({"family": "nm", "edits": [{"before": "a", "after": "b"}], "reason": ""})"));
  say(answer(""));
  EXPECT_EQ(propose(), Texts{});
  EXPECT_NE(lastMessage().find("edits"), std::string::npos) << lastMessage();
}

TEST_F(LLMSourceTest, BudgetsEndItWithTheirName) {
  ChatLimits limits;
  limits.calls = 1;
  make(limits);
  say(answer(R"({"family": "nm", "reason": ""})"));
  say(answer(R"({"family": "csr", "reason": ""})"));
  EXPECT_EQ(propose(), (Texts{"nm"})) << error;
  for (int i = 0; i < 2; ++i) {
    bool seen = false;
    llvm::handleAllErrors(source->propose(state, 4).takeError(),
                          [&](const BudgetError &ended) {
                            seen = true;
                            EXPECT_EQ(ended.currency, "calls");
                          });
    EXPECT_TRUE(seen);
  }
  EXPECT_EQ(script.requests.size(), 1u);
  EXPECT_EQ(source->paid()->exhausted(), "calls");
  limits = ChatLimits();
  limits.tokens = 3000;
  make(limits);
  EXPECT_EQ(propose(), Texts{"error"});
  EXPECT_NE(error.find("the budget of tokens is spent (budget of 3000 tokens"),
            std::string::npos)
      << error;
  EXPECT_EQ(script.requests.size(), 1u) << "refused before the call";
}

TEST_F(LLMSourceTest, FailuresKeepTheirType) {
  for (ChatErrorKind kind :
       {ChatErrorKind::Refused, ChatErrorKind::Auth, ChatErrorKind::Unreachable,
        ChatErrorKind::OutOfMoney, ChatErrorKind::Cancelled}) {
    fail(kind);
    bool seen = false;
    llvm::handleAllErrors(
        source->propose(state, 4).takeError(),
        [&](const ChatError &failed) { seen = failed.kind == kind; });
    EXPECT_TRUE(seen) << name(kind).str();
    EXPECT_EQ(events.last("reply").getString("error"), name(kind));
  }
}

TEST_F(LLMSourceTest, WhatIsTooLongIsAskedShorterOnce) {
  state.notes.assign(50, std::string(200, 'n'));
  fail(ChatErrorKind::ContextTooLong);
  say(answer(R"({"family": "nm", "reason": ""})"));
  EXPECT_EQ(propose(), (Texts{"nm"})) << error;
  ASSERT_EQ(script.requests.size(), 2u);
  EXPECT_TRUE(script.requests[1].tools.empty());
  EXPECT_LT(script.requests[1].messages[1].text.size(),
            script.requests[0].messages[1].text.size());
  fail(ChatErrorKind::Truncated);
  fail(ChatErrorKind::Truncated);
  EXPECT_EQ(propose(), Texts{"error"});
  EXPECT_EQ(script.requests.size(), 4u);
}

TEST(OpNotes, ExamplesParse) {
  mlir::DialectRegistry registry;
  registerKernelDialects(registry);
  mlir::MLIRContext context(registry);
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &d) { diagnostics += d.str() + "\n"; });
  auto parses = [&](llvm::StringRef statement) {
    std::string text =
        "gpu.module @m { gpu.func @k(%g: !llvm.ptr<1>, %s: !llvm.ptr<3>, %i: "
        "i32, %l: i64, %b: i1, %f: f32, %h: vector<2xf16>, %v: vector<4xi32>) "
        "kernel {\n" +
        statement.str() + "\ngpu.return\n} }";
    return bool(mlir::parseSourceString<mlir::ModuleOp>(text, &context));
  };
  for (const OpNote &note : opNotes()) {
    EXPECT_TRUE(parses(note.example)) << note.op.str() << ": " << diagnostics;
    EXPECT_TRUE(note.example.contains(note.op)) << note.op.str();
  }
  EXPECT_FALSE(parses("%r = arith.muli %i, %f : i32"));
}

TEST(OpNotes, LookUp) {
  EXPECT_EQ(lookUpOp("gpu.barrier").find("gpu.barrier\ngpu.barrier\nEvery"),
            0u);
  std::string some = lookUpOp("cp.async");
  EXPECT_NE(some.find("nvvm.cp.async.wait.group"), std::string::npos) << some;
  EXPECT_EQ(lookUpOp("tensor.magic").find("nothing is known"), 0u);
  EXPECT_EQ(lookUpOp("").find("nothing is known"), 0u);
}
