"""The rules of prompt injection, pattern by pattern."""

from reverie.guard.injection_sign import AI as _AI
from reverie.guard.injection_sign import LOOT as _LOOT
from reverie.guard.injection_sign import InjectionSign
from reverie.guard.social_engineering_rules import INDIRECTION, PRESSURE

_GAP = r"(?:[\w'’,-]+\s+){0,4}?"
_EARLIER = (
    r"(?:previous|prior|earlier|above|preceding|foregoing|former|past|existing|initial|original|old|other|current)"
)
_OWNED = r"(?:your|the system|system|developer|the developer|safety|the user'?s?|all|any|every|these|those|my|our)"
_INSTRUCTIONS = (
    r"(?:instructions?|prompts?|directives?|guidelines?|directions|programming|training|guardrails?|safeguards?)"
)
_RULES = (
    r"(?:rules?|constraints?|commands?|orders?|messages?|polic(?:y|ies)|context|restrictions?|limitations?|tasks?"
    r"|requests?)"
)
_DROP = (
    r"(?:ignore|disregard|forget|override|bypass|discard|neglect|dismiss|abandon|overrule|supersede|violate"
    r"|circumvent"
    r"|set aside|pay no attention to|do not follow|don'?t follow|stop following|never mind|skip over|erase|drop)"
)
_DROPPED = (
    "ignore disregard forget override bypass discard neglect dismiss abandon overrule supersede violate circumvent "
    "aside attention follow mind skip erase drop"
)
_TAKE = (
    r"(?:send|post|upload|forward|e-?mail|exfiltrate|transmit|leak|report|submit|deliver|ship|beacon|sync|copy|paste"
    r"|append|include|embed|encode|put)"
)
_ELSEWHERE = (
    r"(?:https?://|ftp://|wss?://|[\w.+-]+@[\w-]+\.\w|(?:an?|the|this|our|my) (?:external|remote|following"
    r"|attacker\S*|"
    r"third[- ]party|public)\b|webhook|pastebin|ngrok|requestbin|burp|interact\.sh|dns (?:query|lookup)"
    r"|(?:[a-z0-9-]+\.)+(?:com|net|org|io|xyz|ru|cn|site|info|dev|evil|example|test)\b)"
)

SIGNS: tuple[InjectionSign, ...] = (
    # orders about the assistant's own instructions
    InjectionSign(
        "tells the assistant to drop its instructions",
        rf"\b{_DROP}\s+{_GAP}(?:{_EARLIER}|{_OWNED})\s+{_GAP}{_INSTRUCTIONS}\b",
        needs=f"instruct prompt directive guideline direction programming training guardrail safeguard & {_DROPPED}",
    ),
    InjectionSign(
        "tells the assistant to drop its instructions",
        rf"\b{_DROP}\s+(?:all\s+|any\s+|every\s+)?(?:of\s+)?(?:the\s+|your\s+|my\s+)?"
        rf"(?:{_EARLIER}|your|system|safety|security)\s+{_GAP}{_RULES}\b(?! of (?:the )?(?:file|table|page))",
        strong=False,
        needs=f"{_DROPPED} & rule constraint command order message polic context restriction limitation task request",
    ),
    InjectionSign(
        "tells the assistant to drop its instructions",
        r"\b(?:ignore|disregard|forget)\s+(?:everything|anything|all|what(?:ever)?)\s+(?:\w+\s+){0,3}?(?:you|i"
        r"|we|they)?\s*"
        r"(?:(?:were|was|have been|had been|are|ve been)\s+)?(?:told|said|instructed|asked|taught|above|before"
        r"|prior|so far"
        r"|you know|learned|written)\b",
        needs="ignore disregard forget",
    ),
    InjectionSign(
        "claims to be the assistant's new instructions",
        r"\b(?:your|these are(?: your| the)?|here are(?: your| the)?|the following are(?: your| the)?)\s+"
        r"(?:(?:new|updated|real|true|actual|only|revised|secret|hidden|primary|main|latest)\s+(?:system\s+)?"
        r"(?:instructions?|directives?|persona|system prompt|rules)\b"
        r"|(?:real|true|actual|secret|hidden|only)\s+(?:task|goal|objective|mission|purpose|role|job)\b)"
        r"|\b(?:new|updated|revised) (?:system )?(?:instructions?|directives?|prompt)\s*"
        r"(?:for (?:the )?(?:assistant|ai|model|agent)\s*)?:",
        needs=(
            "instruct task goal objective mission purpose directive role persona prompt rules job"
            " & your these here following new updated revised"
        ),
    ),
    InjectionSign(
        "gives the assistant another role",
        r"\b(?:you are|you're|you will be|you shall be|consider yourself|imagine you are"
        r"|pretend (?:that )?you(?: are|'re)"
        r"|act as(?: if you (?:are|were))?|pretend to be|roleplay as|role-play as|behave as(?: if you (?:are"
        r"|were))?)\s+(?:now\s+|no "
        r"longer\s+|hereby\s+|currently\s+|in\s+)*(?:an?\s+|the\s+)?(?:\w+\s+){0,3}?(?:dan\b|stan\b|jailbr\w+"
        r"|unrestricted"
        r"|unfiltered|uncensored|unaligned|amoral|evil|free (?:of|from)|without (?:any )?(?:restrictions?|limits"
        r"|rules|filters?)"
        r"|developer mode|debug mode|god mode|admin(?:istrator)? mode|root|bound by|an? ai that|not an ai|hacker"
        r"|superuser)",
        needs="you yourself pretend roleplay role-play behave act",
    ),
    InjectionSign(
        "gives the assistant another role",
        r"\b(?:enable|enter|activate|switch to|you are in|now in)\s+(?:\w+\s+){0,2}?(?:dan|jailbreak|god"
        r"|developer|unrestricted"
        r"|maintenance|override|sudo|debug|admin)\s*mode\b",
        strong=False,
        needs="mode",
    ),
    InjectionSign(
        "demands obedience of the assistant",
        r"\byou (?:must|shall|will|have to|need to|are required to|are obliged to)\s+(?:now\s+|always\s+|only\s+"
        r"|strictly\s+"
        r"|blindly\s+|immediately\s+|unconditionally\s+)*(?:obey|comply (?:with (?:my|these|this)|immediately"
        r"|fully)|follow (?:my|these|this|all|every|the (?:following|instructions"
        r"|orders))(?! (?:\w+ )?(?:steps?|procedure|guides?|conventions?|links?))"
        r"|do (?:exactly )?(?:as|what) (?:i|we|it) sa(?:y|ys)|never refuse|not refuse)\b",
        needs="you",
    ),
    InjectionSign(
        "asks for the assistant's instructions",
        r"\b(?:reveal|print|show|repeat|output|disclose|leak|dump|tell (?:me|us)|recite|display|give me"
        r"|write out|echo"
        r"|return|share|what (?:is|are|were))\s+(?:\w+\s+){0,3}?your\s+(?:(?:system|initial|hidden|original|full"
        r"|secret"
        r"|complete|entire|exact|own|internal|base|core|first|previous)\s+){0,3}(?:prompt\b|instructions"
        r"|system message"
        r"|guidelines|hidden rules)",
        needs="your",
    ),
    InjectionSign(
        "asks for the assistant's instructions",
        r"\b(?:reveal|leak|disclose|exfiltrate|recite|repeat|output|dump|print)\s+(?:\w+\s+){0,3}?(?:system"
        r"|hidden|initial|secret)\s+"
        r"(?:prompt|instructions|message)\b",
        strong=False,
        needs="prompt instructions message",
    ),
    # text that speaks to whoever reads it as a machine
    InjectionSign(
        "addresses an assistant that reads it",
        rf"\bif (?:you|this)(?:'re| are| is)?\s+(?:being\s+)?(?:read|processed|parsed|seen|an?"
        rf"|processing)?\s*(?:by\s+)?(?:an?\s+|any\s+)?{_AI}\b"
        rf"|\b(?:any|all|every|dear|attention,?|hey|hello,?)\s+{_AI}\b[^.\n]{{0,40}}?(?:reading|processing"
        rf"|parsing|summari[sz]ing|who reads?"
        rf"|that reads?|working (?:on|in|with)|:|,\s*(?:you|please|ignore|run|execute|send|do))"
        rf"|\b(?:note|message|instructions?|notice|memo|reminder|directive|order|command|important)\s+(?:to"
        rf"|for)\s+(?:any\s+|all\s+|the\s+"
        rf"|every\s+|future\s+|other\s+)?{_AI}\b(?:[^.\n]{{0,40}}?:|\s+reading)",
        needs="ai llm chatbot model assistant agent chatgpt gpt claude copilot codex gemini cursor",
    ),
    InjectionSign(
        "addresses an assistant that reads it",
        rf"\b(?:as an? {_AI}[^.\n]{{0,40}}? you|when (?:an?|the|any) {_AI} (?:reads?|sees?|process\w*|encounters?)"
        rf"|you are an? {_AI}"
        rf"|{_AI},? (?:please|you must|you should|you will|you are))\b|(?:^|\n)\s*(?:{_AI})\s*[:,]\s*(?:please"
        rf"|you|your|skip|merge|rate|run|execute|send|ignore|call|use|append|add|approve|include|insert|fetch|open|read|print|reveal|show"
        rf"|delete|remove|write|set|stop|treat|mark|recommend|say|reply|respond|answer|never|always|do not|don't)\b"
        rf"|\b{_AI}\s+(?:should|must|shall|is to|needs? to|has to|have to)\s+(?:ignore|hide|conceal|bypass|skip"
        rf"|approve|obey|pretend|lie|disregard)\b",
        strong=False,
        needs="ai llm chatbot model assistant agent chatgpt gpt claude copilot codex gemini cursor",
    ),
    InjectionSign(
        "claims authority over the assistant",
        r"\b(?:this is|message from|i am|i'm|signed by|by order of|on behalf of|authorized by"
        r"|approved by)\s+(?:an?\s+|the\s+|your\s+)?"
        r"(?:official\s+)?(?:message\s+from\s+)?(?:anthropic|openai|google deepmind|your (?:developers?"
        r"|creators?|owner|admin\w*|operator"
        r"|maker)|the (?:system )?administrator|the security team|the system)\b"
        r"|(?:^|\n|\[|\*|#|<|>|\s)(?:system|admin(?:istrator)?|root|developer|priority"
        r"|security)[ _-]*(?:override|alert|notice|message"
        r"|prompt|instruction|command|directive)s?\s*[\]>:!*]",
        strong=False,
        needs="anthropic openai deepmind your administrator security system admin root developer priority",
    ),
    # the turns and calls of a conversation, forged
    InjectionSign(
        "forges the marks of a conversation",
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|begin_of_text)\|?>"
        r"|\[/?inst\]|<<\/?sys>>"
        r"|</?(?:system|system[-_]reminder|system[-_]prompt|system[-_]message|developer[-_]message|assistant|human)>"
        r"|<(?:function_calls|antml:\w+|invoke\s+name=|tool_(?:call|use|result)s?|function_call|function_results)\b"
        r"|(?:^|\n)\s*(?:#{1,4}\s*)?(?:human|assistant|system)\s*:\s*\S[^\n]*\n+\s*(?:#{1,4}\s*)?(?:human"
        r"|assistant|system|user)\s*:"
        r"|(?:^|\n)#{2,4}\s*(?:system|new system|instruction|developer)\s*(?:prompt|message|instructions?)?\s*:"
        r"|(?<!-)-{3,80}\s{0,8}(?:end|begin|start)(?: of)?(?: the)?(?: user| system| untrusted)?\s*(?:system prompt"
        r"|instructions?|prompt|user (?:input"
        r"|message|query)|context|conversation)\s*-{3,}"
        r"|\"(?:tool_calls?|function_call)\"\s*:|\"method\"\s*:\s*\"tools/call\"|\"type\"\s*:\s*\"tool_use\"",
        needs=(
            "<| inst] sys>> < human assistant system developer instruction --- tool_call function_call "
            "tools/call tool_use"
        ),
    ),
    InjectionSign(
        "orders a tool call",
        r"\b(?:call|invoke|use|run|execute|trigger)\s+(?:the\s+|your\s+)?[\w.:/-]+\s+(?:tool|function|command|mcp)\b"
        r"|\buse your (?:\w+\s+)?tools?\b|\b(?:call|invoke)\s+(?:forget|remember|recall|restore|purge"
        r"|consolidate|bash|exec|shell"
        r"|write_file|read_file|fetch|browser)\s*\(",
        strong=False,
        needs="tool function command mcp call invoke",
    ),
    InjectionSign(
        "orders memories to be destroyed or altered",
        r"\b(?:delete|erase|purge|wipe|clear|destroy|overwrite|corrupt|forget|remove)\s+(?:all\s+|every\s+"
        r"|each\s+)?(?:of\s+)?(?:your|the "
        r"(?:user|assistant)'?s?|all|stored|other)\s+(?:\w+\s+){0,2}?memor(?:y|ies)\b"
        r"|\bforget\s*\([^)\n]*purge\s*=\s*true",
        needs="memor forget",
    ),
    InjectionSign(
        "plants itself for later sessions",
        r"\b(?:save|store|write|remember|add|append|persist|propagate|copy|insert|include|embed|record|keep"
        r"|put)\s+(?:\w+\s+){0,3}?(?:this|these"
        r"|the following|that)\s+(?:\w+\s+){0,3}?(?:in|into|to|as|inside|within"
        r"|for)\s+(?:\w+\s+){0,3}?(?:your (?:long[- ]term )?"
        r"(?:memor(?:y|ies)|system prompt|instructions|rules|context)|every (?:file|reply|response|answer"
        r"|message|commit|session)|all (?:future"
        r"|subsequent)|future (?:sessions?|conversations?|responses?))",
        needs="your every future subsequent",
    ),
    InjectionSign(
        "plants itself for later sessions",
        r"\b(?:in|for) (?:all|every|each|any) (?:future|subsequent|later|following) (?:\w+\s+)?(?:sessions?"
        r"|conversations?|responses?|repl(?:y|ies)"
        r"|answers?|interactions?|chats?)\b",
        strong=False,
        needs="future subsequent later following",
    ),
    InjectionSign(
        "puts itself forward",
        r"\bremember (?:\S+\s+){1,8}?as (?:an?|the|your) (?:trusted|authoritative|reliable|preferred|primary|go-to)"
        r" (?:source|site|provider|authority|reference)\b|\balways recommend (?:\S+\s+){1,6}?(?:first|over"
        r"|instead|above)",
        strong=False,
        needs="remember recommend",
    ),
    # secrecy
    InjectionSign(
        "asks to hide something from the user",
        r"\b(?:do not|does not|don'?t|never|must not|should not|shouldn'?t|mustn'?t|avoid|refrain from"
        r"|without)\s+(?:ever\s+)?(?:tell(?:ing)?|inform(?:ing)?"
        r"|mention(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|admit(?:ting)?|show(?:ing)?|let(?:ting)?"
        r"|report(?:ing)?|explain(?:ing)?|say(?:ing)?)\s+"
        r"(?:(?:this|these|it|that|any of this|anything|the (?:instructions?|prompt|note|message|change"
        r"|request))\s+(?:\w+\s+){0,2}?to\s+(?:the\s+|your\s+|its\s+)?"
        r"(?:user|human|developer|owner|operator|person|anyone|them|him|her)"
        r"|(?:the\s+|your\s+)?(?:user|human|developer|owner|operator|person|anyone"
        r"|them)\s+(?:know\s+)?(?:about (?:this|these|it|that|the (?:instruction"
        r"|prompt|note|message|change|call|upload|request))|(?:that|what|why) you|of this|of these|any of this"
        r"|anything))",
        needs="user human developer owner operator person anyone them him her",
    ),
    InjectionSign(
        "asks to hide something from the user",
        r"\b(?:keep|hide|conceal)\s+(?:this|these|it|that|them|all of this)\s+(?:secret\b(?! (?:out|in|safe))|hidden"
        r"|private|from (?:the|your) (?:user"
        r"|human|developer|operator|owner|reviewers?|maintainers?))"
        r"|\bwithout (?:the |their |your )?(?:user'?s?|human'?s?|developer'?s?"
        r"|owner'?s?)\s+(?:knowledge|knowing"
        r"|consent|noticing|awareness|permission)|\bbetween (?:you and me|us only)\b",
        needs="secret hidden private from user human developer owner between",
    ),
    InjectionSign(
        "asks to hide something from the user",
        r"\b(?:do not|don'?t|never|without)\s+(?:tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?"
        r"|warn(?:ing)?|ask(?:ing)?|mention(?:ing)?"
        r"|show(?:ing)?)\s+(?:this to\s+|it to\s+)?(?:the\s+|your\s+)?(?:user|human|developer|operator|owner"
        r"|anyone)\b"
        r"|\b(?:silently|secretly|covertly|quietly|discreetly|stealthily|in the background)\s+(?:\w+\s+)?(?:run"
        r"|send|add|upload|execute|install"
        r"|delete|exfiltrate|call|post|read|copy|change|modify|insert|append|forward|disable|push|commit|fetch"
        r"|download)\b"
        r"|\b(?:do not|don'?t|never) (?:mention|reveal|disclose|acknowledge|discuss) (?:this|these"
        r"|the existence of)\b",
        strong=False,
        needs=(
            "user human developer operator owner anyone silently secretly covertly quietly discreetly "
            "stealthily background mention reveal disclose acknowledge discuss"
        ),
    ),
    # taking things out
    InjectionSign(
        "asks to send data elsewhere",
        rf"\b{_TAKE}(?:ing)?\s+(?:\w+\s+){{0,4}}?(?:the\s+|your\s+|all\s+|any\s+|every\s+|its\s+"
        rf"|their\s+)*(?:\w+\s+){{0,3}}?(?:\.env\b|env(?:ironment)?"
        rf" (?:vars?|variables?)|id_rsa|id_ed25519|~?/?\.ssh|~?/?\.aws|conversations?|chat (?:history|logs?)"
        rf"|memor(?:y|ies)|system prompt"
        rf"|user'?s? (?:\w+\s+)?(?:data|credentials|secrets|files|tokens?|keys?|passwords?)|private keys?"
        rf"|ssh keys?|/etc/(?:passwd|shadow)|clipboard|contents? of)"
        rf"[^\n]{{0,160}}?{_ELSEWHERE}",
        needs=(
            ".env env environ id_rsa id_ed25519 .ssh .aws conversation chat memor prompt user private ssh /etc/ "
            "clipboard content"
            " & :// @ external remote following attacker third public webhook pastebin ngrok requestbin burp interact"
            " dns .com .net .org .io .xyz .ru .cn .site .info .dev .evil .example .test"
        ),
        reach=500,
    ),
    InjectionSign(
        "asks to send data elsewhere",
        rf"\b{_TAKE}(?:ing)?\s+(?:[^\s.]+\s+){{0,6}}?{_LOOT}[^\n]{{0,120}}?{_ELSEWHERE}"
        rf"|\b(?:exfiltrate|steal|harvest|siphon|smuggle)\s+(?:\w+\s+){{0,4}}?{_LOOT}"
        rf"|\b(?:send|post|upload|forward|e-?mail)\s+(?:it|them|the (?:result|output|data|answer|response"
        rf"|contents?)|everything|this)\s+"
        rf"(?:back\s+)?(?:to|via|at)\s+{_ELSEWHERE}",
        strong=False,
        needs=(
            ":// @ external remote following attacker third public webhook pastebin ngrok requestbin burp "
            "interact dns exfiltrate steal harvest siphon smuggle .com .net .org .io"
        ),
        reach=500,
    ),
    InjectionSign(
        "smuggles data out in an address",
        r"!\[[^\]\n]{0,200}\]\(\s*https?://[^)\s]{0,300}[?&/=](?!token=\w{4,40}\))(?:\{|\[|<|%7b|\$|data|secret|token|key|q="
        r"|conversation|history|\.\.\.)",
        needs="![",
    ),
    InjectionSign(
        "reads secrets and passes them on",
        r"\b(?:cat|type|less|head|tail|cp|tar|base64|xxd|read|open)\s+(?:\S+\s+){0,3}?(?:~?/?\S*\.ssh/"
        r"|~?/?\S*\.aws/|\S*\.env\b|\S*id_rsa|/etc/shadow"
        r"|\S*\.netrc|\S*\.npmrc|\S*\.pypirc|\S*credentials)[^\n]{0,160}?(?:\||curl|wget|nc |send|post|upload"
        r"|include|paste|append|e-?mail)",
        needs=".ssh .aws .env id_rsa shadow .netrc .npmrc .pypirc credentials",
    ),
    # switching protections off
    InjectionSign(
        "asks to switch off the assistant's protections",
        r"\b(?:disable|turn off|switch off|bypass|remove|circumvent|ignore|deactivate|suspend|lift"
        r"|drop)\s+(?:all\s+|any\s+)?(?:of\s+)?your\s+"
        r"(?:\w+\s+){0,2}?(?:safety|security|content|ethic\w*|moral\w*|guardrails?|safeguards?|permissions?"
        r"|approvals?|confirmations?|sandbox|filters?"
        r"|restrictions?|limits?|limitations?|protections?|policies|guidelines)",
        needs="your",
    ),
    InjectionSign(
        "asks to switch off the assistant's protections",
        r"\b(?:disable|turn off|bypass|circumvent|skip|auto-?approve|always (?:approve|accept"
        r"|allow))\s+(?:all\s+|any\s+|the\s+|every\s+)*(?:\w+\s+){0,2}?"
        r"(?:safety (?:checks?|filters?)|guardrails?|permission (?:checks?|prompts?)|tool calls?"
        r"|confirmation prompts?|approval (?:prompts?|steps?))"
        r"|--dangerously-\w+|\bwithout (?:asking for |requesting |any )?(?:permission|confirmation|approval)\b"
        r"|\byolo mode\b",
        strong=False,
        needs=(
            "safety guardrail permission tool confirmation approval dangerously yolo"
            " & disable turn bypass circumvent skip approve always dangerously without yolo"
        ),
    ),
    InjectionSign(
        "asks for a back door",
        r"\b(?:insert|add|plant|introduce|inject|hide|install|leave|create"
        r"|open)\s+(?:\w+\s+){0,3}?(?:back ?doors?|reverse shells?|keyloggers?|malware"
        r"|rootkits?|crypto ?miners?|trojans?)\b",
        strong=False,
        needs="back shell keylogger malware rootkit miner trojan",
    ),
    # code from the network, run unread
    InjectionSign(
        "runs code from the network",
        r"\b(?:curl|wget|aria2c|lynx|iwr|irm|invoke-webrequest"
        r"|invoke-restmethod)\b[^\n|]{1,400}\|\s*(?:sudo\s+(?:-\S+\s+)*)?(?:env\s+)?(?:/\S*/)?(?:ba|z|da|k|fi|c"
        r"|tc)?sh\b"
        r"|\b(?:curl|wget|iwr|irm|invoke-webrequest"
        r"|invoke-restmethod)\b[^\n|]{1,400}\|\s*(?:sudo\s+)?(?:python\d?|perl|ruby|node|php|deno|iex"
        r"|invoke-expression|powershell|pwsh|source|tee\b[^\n|]*\|\s*\w*sh)\b"
        r"|\b(?:ba|z|da|k)?sh\s+(?:-\w+\s+)*<\(\s*(?:curl|wget)|(?:\bsh|\bbash|\bzsh|\beval|\bpython\d?|\bsource"
        r"|\.)\s+(?:-\w+\s+)?[\"'`]?(?:\$\(|`|<\()\s*(?:curl|wget)"
        r"|\b(?:iex|invoke-expression)\b[^\n]{0,80}(?:iwr|irm|invoke-webrequest|downloadstring|net\.webclient"
        r"|https?://)|\bdownloadstring\s*\([^\n]{0,200}\|\s*iex"
        r"|\b(?:curl|wget)\b[^\n]{1,300}(?:&&|;)\s*(?:sudo\s+)?(?:chmod\s+\S+\s+\S+\s*(?:&&"
        r"|;)\s*)?(?:sudo\s+)?(?:\./|ba?sh\s|sh\s|python\d?\s|source\s)"
        r"|\bbase64\s+(?:-d|-D|--decode)\b[^\n|]{0,80}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|/dev/tcp/\d"
        r"|\bnc\b[^\n]{0,40}\s-e\s*/bin/|\bpowershell(?:\.exe)?\s+[^\n]{0,60}-e(?:nc\w*)?\s+[a-z0-9+/=]{20,}"
        r"|\b(?:exec|eval)\s*\([^)\n]{0,60}?(?:requests\.get|urlopen|fetch\(|__import__|b64decode|atob)",
        needs=(
            "curl wget aria2c lynx iwr irm invoke- iex base64 /dev/tcp /bin/ powershell downloadstring exec( eval("
        ),
        reach=700,
    ),
    # in other languages
    InjectionSign(
        "tells the assistant to drop its instructions",
        r"\b(?:ignorier\w*|vergiss|vergessen sie|missachte\w*)\s+(?:\w+\s+){0,3}?(?:vorherig\w*|bisherig\w*"
        r"|vorig\w*|obig\w*|früher\w*|alle\w*|deine|ihre)\s+"
        r"(?:\w+\s+){0,2}?(?:anweisung\w*|instruktion\w*|befehle?|regeln|vorgaben)"
        r"|\b(?:ignore[zr]?|oublie[zr]?|ne (?:tiens|tenez) (?:pas )?compte)\s+(?:\w+\s+){0,4}?(?:instructions?"
        r"|consignes?|directives?)(?:\s+\w+){0,2}?\s*(?:précédent\w*|antérieur\w*|ci-dessus)"
        r"|\boublie[zr]?\s+(?:tes|vos|toutes)\s+(?:\w+\s+){0,2}?(?:instructions|consignes|règles)"
        # in many languages the words are nearly the same
        r"|\bignor\w{0,8}\s+(?:\w+\s+){0,4}?(?!instructions?\b)(?:instruc|instruk|instrucţ|instrucț|polecen|pokyn)\w*"
        r"|\babaikan\s+(?:\w+\s+){0,3}?(?:instruksi|perintah|arahan)|bỏ qua[^.\n]{0,30}(?:hướng dẫn|chỉ dẫn|lệnh)"
        r"|αγνό\w+\s+(?:\w+\s+){0,4}?(?:οδηγί|εντολ)\w*|(?:unohda|ohita)\s+(?:\w+\s+){0,3}?ohje\w*"
        r"|hagyd figyelmen kívül[^.\n]{0,30}utasítás|(?:เพิกเฉย|ละเว้น|ลืม)[^\n]{0,30}คำสั่ง|نادیده[^.\n]{0,30}دستور"
        r"|\b(?:ignor[ae]|olvid[ae]|esque[cç][ae]|desconsidere|dimentica|scarta)\s+(?:\w+\s+){0,4}?(?:instrucciones"
        r"|instruções|istruzioni|indicaciones|órdenes|ordens)\b"
        r"|\b(?:negeer|vergeet)\s+(?:\w+\s+){0,3}?(?:instructies|opdrachten)\b|\b(?:zignoruj"
        r"|zapomnij)\s+(?:\w+\s+){0,3}?(?:instrukcj\w+|polece\w+)"
        r"|\bignorera\s+(?:\w+\s+){0,3}?instruktioner|\b(?:önceki"
        r"|yukarıdaki)\s+(?:\w+\s+){0,2}?talimat\w*\s+(?:\w+\s+){0,2}?(?:yok say|unut|görmezden)"
        r"|(?:игнорируй|забудь|проигнорируй|отбрось)(?:те)?\s+(?:\S+\s+){0,3}?(?:инструкци\w+|указани\w+"
        r"|команд\w*|правила|приказ\w*)"
        r"|(?:ігноруй|забудь)(?:те)?\s+(?:\S+\s+){0,3}?(?:інструкці\w+|вказівк\w+)"
        r"|(?:忽略|无视|無視|忘记|忘記|忽視|不要理会)[^。\n]{0,12}(?:指令|指示|提示|规则|規則|命令|说明|設定|设定)"
        r"|(?:以前|これまで|上記|前|先|すべて|全て)[^。\n]{0,10}(?:指示|命令|指令|プロンプト|ルール)[^。\n]{0,4}(?:無視|忘れ)"
        r"|(?:이전|위|앞|모든|기존)[^.\n]{0,10}(?:지시|명령|지침|프롬프트|규칙)[^.\n]{0,8}(?:무시|잊)"
        r"|تجاهل[^.\n]{0,20}(?:التعليمات|الأوامر)|התעלם[^.\n]{0,20}(?:ההוראות|הנחיות)|(?:पिछले"
        r"|सभी)[^।\n]{0,20}निर्देश[^।\n]{0,12}(?:अनदेखा|भूल)",
        needs=(
            "ignor vergiss vergessen missachte oublie compte olvid esque desconsidere dimentica scarta "
            "negeer vergeet zignoruj zapomnij talimat игнор забудь отбрось ігнор 忽 无视 無視 忘 "
            "不要理会 무시 잊 تجاهل "
            "התעלם अनदेखा भूल abaikan qua αγνό unohda ohita figyelmen เพิกเฉย ละเว้น ลืม نادیده دستور"
            " & instruks instruc règles polecen pokyn perintah arahan hướng chỉ lệnh οδηγί εντολ ohje utasítás"
            " คำสั่ง دستور"
            " anweisung instruktion befehl regeln vorgaben instruct consigne directive instrucc instruç istruzion"
            " indicac órdenes ordens opdracht instrukc polece talimat инструкц указани команд правила приказ"
            " інструкц вказівк 指令 指示 提示 规则 規則 命令 说明 設定 设定 プロンプト ルール"
            " 지시 명령 지침 프롬프트 규칙 التعليمات الأوامر ההוראות הנחיות निर्देश"
        ),
    ),
    InjectionSign(
        "asks to hide something from the user",
        r"\bsag(?:e|en sie)? (?:dem|der) (?:benutzer|nutzer|anwender)\w* nichts|\bno (?:le|se lo) (?:digas"
        r"|cuentes|menciones)\b[^.\n]{0,30}usuari"
        r"|\bne (?:le |la |lui )?(?:dis|dites|mentionne"
        r"|parle)\w*\s+(?:\w+\s+){0,3}?pas\s+(?:\w+\s+){0,3}?(?:l'utilisateur|utilisateur)|\bnão (?:conte|diga"
        r"|mencione)[^.\n]{0,30}usuári"
        r"|не (?:говори|сообщай|рассказывай)(?:те)?\s+(?:\S+\s+){0,2}?пользовател|(?:不要|别|勿)(?:告诉|告訴|通知"
        r"|让)[^。\n]{0,4}(?:用户|使用者|用戶)"
        r"|ユーザー?に[^。\n]{0,10}(?:言わない|知らせない|伝えない)|사용자에게[^.\n]{0,12}(?:말하지|알리지)",
        needs="benutzer nutzer anwender usuari utilisateur usuári пользовател 用户 使用者 用戶 ユーザ 사용자",
    ),
    *PRESSURE,
    *INDIRECTION,
)
