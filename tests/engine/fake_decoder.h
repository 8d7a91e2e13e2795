#pragma once

#include "engine/scheduler/scheduler.h"
#include <bitset>
#include <deque>
#include <limits>
#include <map>

inline std::string filler(char c, int count)
{
    return std::string(static_cast<std::size_t>(count), c);
}

/// A vocabulary of single bytes: token t is the byte t. 0 is the end token, 1 another special one.
class ByteVocabulary final : public engine::Vocabulary
{
public:
    static constexpr engine::TokenId end = 0;
    ByteVocabulary()
    {
        for (int i = 0; i < 256; ++i)
            m_pieces.emplace_back(1, static_cast<char>(i));
        m_pieces[0] = "<end>";
        m_pieces[1] = "<mark>";
    }
    [[nodiscard]] int size() const override { return 256; }
    [[nodiscard]] const std::string &piece(engine::TokenId token) const override
    {
        return m_pieces[static_cast<std::size_t>(token)];
    }
    [[nodiscard]] bool isEnd(engine::TokenId token) const override { return token == end; }
    [[nodiscard]] bool isSpecial(engine::TokenId token) const override { return token <= 1; }
    [[nodiscard]] const std::vector<engine::TokenId> &endTokens() const override { return m_ends; }

private:
    std::vector<std::string> m_pieces;
    std::vector<engine::TokenId> m_ends{end};
};

/// A unified cache as libllama's, with every rule checked: positions follow on, a sequence has one cell for
/// each of its positions, cells run out. What comes next depends on the whole history, so that a wrong cell
/// gives a wrong text.
class FakeDecoder final : public engine::Decoder
{
public:
    using Model = std::function<engine::TokenId(const std::vector<engine::TokenId> &history)>;

    explicit FakeDecoder(int cells, Model model = scrambled)
        : m_cells(static_cast<std::size_t>(cells)), m_model(std::move(model))
    {
    }

    /// A letter that depends on all of the history.
    static engine::TokenId scrambled(const std::vector<engine::TokenId> &history)
    {
        std::uint32_t hash = 2166136261U;
        for (const engine::TokenId token : history)
            hash = (hash ^ static_cast<std::uint32_t>(token)) * 16777619U;
        return static_cast<engine::TokenId>('a' + hash % 26);
    }

    engine::DecodeStatus decode(std::span<const engine::BatchRow> rows) override
    {
        if (rows.empty() || static_cast<int>(rows.size()) > maxRows())
            return complain("batch of " + std::to_string(rows.size()) + " rows");
        if (spuriousFull > 0) {
            --spuriousFull;
            return engine::DecodeStatus::CacheFull;
        }
        if (static_cast<std::size_t>(freeCells()) < rows.size())
            return ++fullCount, engine::DecodeStatus::CacheFull;
        m_logits.clear();
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const engine::BatchRow &row = rows[i];
            std::vector<engine::TokenId> history = historyOf(row.sequence);
            if (row.position != static_cast<int>(history.size()))
                return complain("position " + std::to_string(row.position) + " after "
                                + std::to_string(history.size()));
            Cell &cell = freeCell();
            cell.position = row.position;
            cell.token = row.token;
            cell.sequences.set(static_cast<std::size_t>(row.sequence));
            history.push_back(row.token);
            if (row.wantsLogits) {
                std::vector<float> logits(256, -10.0F);
                logits[static_cast<std::size_t>(m_model(history))] = 10.0F;
                m_logits[static_cast<int>(i)] = std::move(logits);
            }
        }
        if (static_cast<int>(m_logits.size()) > maxOutputs())
            return complain("too many outputs");
        batches.emplace_back(rows.begin(), rows.end());
        now += engine::Seconds(0.001 * static_cast<double>(rows.size()));
        return engine::DecodeStatus::Done;
    }
    std::span<const float> logits(int row) override { return m_logits[row]; }

    void copySequence(int from, int to, int begin, int end) override
    {
        for (Cell &cell : m_cells) {
            if (cell.sequences.test(static_cast<std::size_t>(from)) && cell.position >= begin
                && cell.position < end)
                cell.sequences.set(static_cast<std::size_t>(to));
        }
        historyOf(to);
    }
    void removeSequence(int sequence, int begin, int end) override
    {
        for (Cell &cell : m_cells) {
            if (cell.position >= begin && (end < 0 || cell.position < end))
                cell.sequences.reset(static_cast<std::size_t>(sequence));
        }
    }
    [[nodiscard]] int maxRows() const override { return rowLimit; }
    [[nodiscard]] int maxOutputs() const override { return 64; }
    [[nodiscard]] int sequenceLimit() const override { return sequences; }
    [[nodiscard]] std::int64_t cellCount() const override
    {
        return static_cast<std::int64_t>(m_cells.size());
    }
    [[nodiscard]] bool canShare() const override { return shares; }

    [[nodiscard]] int freeCells() const
    {
        return static_cast<int>(std::count_if(m_cells.begin(), m_cells.end(),
                                              [](const Cell &cell) { return cell.sequences.none(); }));
    }

    std::vector<std::vector<engine::BatchRow>> batches;
    std::vector<std::string> complaints; ///< Broken rules; must stay empty.
    engine::Seconds now{1};
    int fullCount = 0; ///< How often the scheduler's account was wrong.
    int spuriousFull = 0; ///< So many of the next calls find no room although there is some.
    int sequences = 256;
    int rowLimit = 512;
    bool shares = true;

private:
    struct Cell
    {
        int position = -1;
        engine::TokenId token = 0;
        std::bitset<256> sequences;
    };

    engine::DecodeStatus complain(std::string what)
    {
        complaints.push_back(std::move(what));
        return engine::DecodeStatus::Failed;
    }
    Cell &freeCell()
    {
        return *std::find_if(m_cells.begin(), m_cells.end(),
                             [](const Cell &cell) { return cell.sequences.none(); });
    }
    std::vector<engine::TokenId> historyOf(int sequence)
    {
        std::map<int, engine::TokenId> byPosition;
        for (const Cell &cell : m_cells) {
            if (!cell.sequences.test(static_cast<std::size_t>(sequence)))
                continue;
            if (!byPosition.emplace(cell.position, cell.token).second)
                complaints.push_back("two cells at one position of sequence " + std::to_string(sequence));
        }
        std::vector<engine::TokenId> history;
        for (const auto &[position, token] : byPosition)
            history.push_back(token);
        return history;
    }

    std::vector<Cell> m_cells;
    Model m_model;
    std::map<int, std::vector<float>> m_logits;
};

/// A scheduler on a fake decoder, and all that it said.
class FakeEngine final : public engine::Scheduler::Listener
{
public:
    explicit FakeEngine(int cells, engine::SchedulerOptions options = {},
                        FakeDecoder::Model model = FakeDecoder::scrambled)
        : decoder(cells, std::move(model)), m_options(withLength(options, cells))
    {
    }

    void submit(engine::GenerateRequest request)
    {
        engine::Sampler::Input input;
        input.params = request.sampling;
        input.prompt = request.prompt;
        input.endTokens = vocabulary.endTokens();
        scheduler().submit(std::move(request), std::make_unique<engine::Sampler>(std::move(input)));
    }

    static engine::GenerateRequest request(engine::RequestId id, const std::string &prompt, int maxTokens)
    {
        engine::GenerateRequest made;
        made.id = id;
        for (const char c : prompt)
            made.prompt.push_back(static_cast<unsigned char>(c));
        made.sampling.maxTokens = maxTokens;
        made.sampling.temperature = 0;
        return made;
    }

    /// Steps until nothing is left; false if that takes too many.
    bool runAll(int most = 5000)
    {
        for (int i = 0; i < most && !scheduler().isIdle(); ++i)
            scheduler().step();
        return scheduler().isIdle();
    }

    /// What the model says alone, without any scheduler.
    static std::string expected(const std::string &prompt, int count)
    {
        std::vector<engine::TokenId> history;
        for (const char c : prompt)
            history.push_back(static_cast<unsigned char>(c));
        std::string text;
        for (int i = 0; i < count; ++i) {
            history.push_back(FakeDecoder::scrambled(history));
            text += static_cast<char>(history.back());
        }
        return text;
    }

    engine::Scheduler &scheduler()
    {
        if (!m_scheduler)
            m_scheduler = std::make_unique<engine::Scheduler>(
                decoder, vocabulary, m_options, [this] { return decoder.now; }, *this);
        return *m_scheduler;
    }

    void onEvent(engine::GenerationEvent event) override
    {
        if (!texts.contains(event.id))
            firstTokenOrder.push_back(event.id);
        texts[event.id] += event.text;
        if (event.finish)
            finishes[event.id] = *event.finish;
        events[event.id].push_back(std::move(event));
    }
    void onFailure(engine::RequestFailure failure) override { failures[failure.id] = std::move(failure); }

    FakeDecoder decoder;
    ByteVocabulary vocabulary;
    std::map<engine::RequestId, std::string> texts;
    std::map<engine::RequestId, engine::Finish> finishes;
    std::map<engine::RequestId, engine::RequestFailure> failures;
    std::map<engine::RequestId, std::vector<engine::GenerationEvent>> events;
    std::vector<engine::RequestId> firstTokenOrder;

private:
    static engine::SchedulerOptions withLength(engine::SchedulerOptions options, int cells)
    {
        if (options.maxModelLen == 0)
            options.maxModelLen = cells;
        return options;
    }

    engine::SchedulerOptions m_options;
    std::unique_ptr<engine::Scheduler> m_scheduler;
};
