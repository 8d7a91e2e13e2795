#include "cluster/local/nodeagent/shell_words.h"

#include <cctype>
#include <utility>

namespace cluster::local {

namespace {

class Scanner
{
public:
    Scanner(std::string_view script, const VariableOf &variable) : m_script(script), m_variable(variable) {}

    std::vector<std::vector<std::string>> run()
    {
        while (m_at < m_script.size())
            step(m_script[m_at++]);
        endCommand();
        return std::move(m_commands);
    }

private:
    void step(char c)
    {
        switch (c) {
        case '\\':
            escaped();
            return;
        case '\'':
            m_hasWord = true;
            while (m_at < m_script.size() && m_script[m_at] != '\'')
                m_word += m_script[m_at++];
            ++m_at;
            return;
        case '"':
            doubleQuoted();
            return;
        case '$':
            variable();
            return;
        case '>':
        case '<':
            redirection();
            return;
        case '#':
            if (m_hasWord)
                break;
            while (m_at < m_script.size() && m_script[m_at] != '\n')
                ++m_at;
            return;
        case ' ':
        case '\t':
        case '\r':
            endWord();
            return;
        case '\n':
        case ';':
        case '&':
        case '|':
        case '(':
        case ')':
            endCommand();
            return;
        default:
            break;
        }
        m_word += c;
        m_hasWord = true;
    }

    void escaped()
    {
        if (m_at >= m_script.size())
            return;
        const char next = m_script[m_at++];
        if (next == '\n')
            return;
        m_word += next;
        m_hasWord = true;
    }

    void doubleQuoted()
    {
        m_hasWord = true;
        while (m_at < m_script.size() && m_script[m_at] != '"') {
            const char c = m_script[m_at++];
            if (c == '$')
                variable();
            else if (c == '\\' && m_at < m_script.size())
                escaped();
            else
                m_word += c;
        }
        ++m_at;
    }

    void variable()
    {
        std::string name, fallback;
        if (m_at < m_script.size() && m_script[m_at] == '{') {
            const std::size_t end = m_script.find('}', m_at);
            if (end == std::string_view::npos)
                return;
            name = std::string(m_script.substr(m_at + 1, end - m_at - 1));
            m_at = end + 1;
            if (const std::size_t mark = name.find(":-"); mark != std::string::npos) {
                fallback = name.substr(mark + 2);
                name.resize(mark);
            }
        } else {
            while (m_at < m_script.size()
                   && (std::isalnum(static_cast<unsigned char>(m_script[m_at])) || m_script[m_at] == '_'))
                name += m_script[m_at++];
        }
        if (name.empty()) {
            m_word += '$';
            m_hasWord = true;
            return;
        }
        const std::string value = m_variable ? m_variable(name) : std::string();
        const std::string &shown = value.empty() ? fallback : value;
        m_word += shown;
        m_hasWord = m_hasWord || !shown.empty();
    }

    /// Where output goes is no word of the command: `2>&1`, `> file`.
    void redirection()
    {
        if (m_word.find_first_not_of("0123456789") != std::string::npos)
            endWord();
        m_word.clear();
        m_hasWord = false;
        while (m_at < m_script.size()
               && (m_script[m_at] == '>' || m_script[m_at] == '<' || m_script[m_at] == '&'))
            ++m_at;
        while (m_at < m_script.size() && (m_script[m_at] == ' ' || m_script[m_at] == '\t'))
            ++m_at;
        m_isTarget = true;
    }

    void endWord()
    {
        if (m_hasWord && std::exchange(m_isTarget, false))
            m_hasWord = false;
        if (m_hasWord)
            m_words.push_back(std::move(m_word));
        m_word.clear();
        m_hasWord = false;
    }

    void endCommand()
    {
        endWord();
        if (!m_words.empty())
            m_commands.push_back(std::move(m_words));
        m_words.clear();
    }

    std::string_view m_script;
    const VariableOf &m_variable;
    std::size_t m_at = 0;
    bool m_hasWord = false;
    bool m_isTarget = false; ///< the word is a redirection's
    std::string m_word;
    std::vector<std::string> m_words;
    std::vector<std::vector<std::string>> m_commands;
};

} // namespace

std::vector<std::vector<std::string>> shellCommands(std::string_view script, const VariableOf &variable)
{
    return Scanner(script, variable).run();
}

} // namespace cluster::local
