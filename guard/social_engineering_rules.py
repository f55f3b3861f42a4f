"""Injection by social engineering: invented permission, cancelled rules, urgency, authority, falsified reports."""

from reverie.guard.injection_sign import ABOVE, AI, LOOT, InjectionSign

_RULES = r"(?:guidelines|instructions|directives|system prompt|rules|safety rules)"

PRESSURE: tuple[InjectionSign, ...] = (
    InjectionSign(
        "claims to be the assistant's new instructions",
        rf"\byour {_RULES} (?:have|has|are|is|were|was)\s+(?:now\s+|just\s+|been\s+|hereby\s+)*(?:updated|changed"
        rf"|replaced|revoked|superseded|suspended|lifted|void|obsolete|amended|cancelled|overridden)\b"
        rf"|\b(?:overrides?|supersedes?|replaces?|cancels?|takes? precedence over|outranks?|trumps?)\s+"
        rf"(?:(?:all|any|both|of)\s+)*your\s+(?:\w+\s+){{0,2}}?{_RULES}"
        rf"|\bnew (?:instructions|orders|directives) from (?:the |your )?(?:{ABOVE}|anthropic|openai)\b",
        needs="guidelines instructions directives prompt rules orders & your new",
    ),
    InjectionSign(
        "asks for the assistant's instructions",
        r"\b(?:repeat|print|output|copy|recite|quote)\s+(?:\w+\s+){0,3}?(?:words|text|everything|content|message"
        r"|prompt|instructions)\s+(?:\w+\s+){0,2}?(?:above|before this|preceding)\b[^.\n]{0,60}"
        r"(?:starting|beginning|verbatim|word for word|you are)"
        r"|\b(?:print|dump|reveal|output|show|repeat|leak|disclose)\s+(?:\w+\s+){0,4}?your (?:context window"
        r"|conversation|chat history|hidden|memory)\b",
        needs="above before preceding your & repeat print output copy recite quote dump reveal show leak disclose",
    ),
    InjectionSign(
        "smuggles data out in an address",
        r"(?:javascript:|\bon(?:error|load|click|mouseover|focus)\s*=)[^\n]{0,200}?(?:fetch\s*\(|xmlhttprequest"
        r"|sendbeacon|new image|location)[^\n]{0,200}?(?:cookie|localstorage|innerhtml|token)",
        needs="javascript: onerror onload onclick onmouseover onfocus",
    ),
    InjectionSign(
        "orders memories to be destroyed or altered",
        r"\b(?:call|use|invoke|run|execute)\b[^.\n]{0,40}?\b(?:forget|purge|revise|restore)\b[^.\n]{0,40}?"
        r"\b(?:all|every|each)\b[^.\n]{0,20}?memor",
        needs="memor",
    ),
    InjectionSign(
        "runs code from the network",
        r"\b(?:curl|wget)\b[^\n]{1,300}?(?:&&|;|\n)\s*(?:sudo\s+)?chmod\s+\S{1,10}\s+\S{1,200}\s*(?:&&|;|\n)\s*"
        r"(?:sudo\s+)?(?:\./|/|~/)\S",
        needs="chmod & curl wget",
        reach=700,
    ),
    InjectionSign(
        "speaks for the user or the system",
        r"\bend of (?:the )?(?:reference|retrieved|memory|memories|document|context|untrusted|quoted|tool|search)\s*"
        r"(?:data|output|content|text|results?)?\s*[.:\])>-]"
        r"|(?:^|\n)\s*\[(?:system|admin|developer|root)\]",
        strong=False,
        needs=(
            "end [system [admin [developer [root"
            " & reference retrieved memor document context untrusted quoted tool search ["
        ),
    ),
    InjectionSign(
        "claims authority over the assistant",
        rf"\bthe following (?:is|comes|was|text is|message is)\s+(?:\w+\s+)?(?:from|by)\s+"
        rf"(?:the\s+|your\s+)?{ABOVE}\b"
        rf"|\byou (?:have been|are|were|are now)\s+(?:hereby\s+|fully\s+|now\s+)*(?:granted|given|authori[sz]ed"
        rf"|cleared|permitted|allowed)\s+(?:\w+\s+){{0,2}}?(?:admin|root|full|unrestricted|elevated|sudo|access"
        rf"|to (?:skip|bypass|ignore|disable|run|execute|delete))"
        rf"|\b{ABOVE}s? (?:has|have)\s+(?:already\s+|fully\s+)*(?:approved|authori[sz]ed|consented|agreed|confirmed"
        rf"|granted|given)\b[^.\n]{{0,40}}?\b(?:all|any|every|future|full|following|you)\b",
        strong=False,
        needs="following granted given authori cleared permitted allowed approved consented agreed confirmed",
    ),
    InjectionSign(
        "asks to switch off the assistant's protections",
        r"\b(?:no need to|needn't|don't|do not|never|without|stop)\s+(?:ever\s+)?(?:ask(?:ing)?|prompt(?:ing)?"
        r"|wait(?:ing)?|check(?:ing)?|request(?:ing)?)\s+(?:\w+\s+)?(?:for|with)\s+(?:\w+\s+){0,2}?(?:permission"
        r"|confirmation|approval|consent|the user|the human)\b"
        r"|\bsafety (?:filters?|checks?|rules?|limits?|features?)\s+(?:are|is|have been|has been|were)\s+(?:\w+\s+)?"
        r"(?:disabled|off|lifted|suspended|removed|turned off)",
        strong=False,
        needs="permission confirmation approval consent user human safety",
    ),
    InjectionSign(
        "asks to weaken what protects the project",
        r"\b(?:tls|ssl|certificate|signature|authentication|authori[sz]ation|security|virus|two-factor)\s+"
        r"(?:verification|validation|checks?|checking|scanning)?\s*(?:should|must|can|needs? to|has to) be\s+"
        r"(?:turned off|disabled|skipped|bypassed|removed)"
        r"|\bcore\.hookspath\b|\bauthorized_keys\b|\bpush --force origin (?:main|master)\b",
        strong=False,
        needs="off disabled skipped bypassed removed core.hookspath authorized_keys --force",
    ),
    InjectionSign(
        "demands obedience of the assistant",
        r"\b(?:from now on|henceforth|going forward),?\s+you (?:will|must|shall|should|are)\b"
        r"|\bcomply with (?:all|any|every|each)\s+(?:\w+\s+)?(?:requests?|orders?|commands?)\b"
        r"|\bstop (?:what(?:ever)?|everything) you(?:'re| are) doing\b",
        strong=False,
        needs="you comply",
    ),
    InjectionSign(
        "puts words into the assistant's mouth",
        r"\b(?:when(?:ever)?|if|each time|every time)\s+(?:some ?one|any ?one|the user|a user|users|somebody|you are)"
        r"\s+(?:asks|asked)\b[^.\n]{0,80}?,\s*(?:always\s+|only\s+|then\s+|you\s+|must\s+|should\s+)*(?:answer|say|reply"
        r"|respond|tell|claim|recommend|suggest|state|insist)\b"
        r"|\b(?:always|only|never)\s+(?:recommend|suggest|promote|advertise)\s+(?:the\s+|our\s+)?(?:package|library"
        r"|dependency|product|site|service|vendor)\b"
        r"|\b(?:after|before|when|while)\s+(?:answering|replying|responding|every (?:answer|reply|response)|each "
        r"(?:answer|reply|response)),?\s+(?:always|also|never|add|append|include|insert)\b",
        strong=False,
        needs=(
            "asks asked recommend suggest promote advertise answer reply respon"
            " & when if time always only never after before while"
        ),
    ),
    InjectionSign(
        "asks to hide something from the user",
        r"\bnever (?:mention|say|admit|reveal|tell)\s+(?:it|this|that|them)\b"
        r"|\b(?:hide|conceal)\s+(?:this|these|that|the)\s+(?:\w+\s+){1,3}?from (?:the|your) (?:user|human|developer"
        r"|operator|owner|reviewers?|maintainers?)\b",
        strong=False,
        needs="never hide conceal & mention say admit reveal tell from",
    ),
    InjectionSign(
        "asks to send data elsewhere",
        rf"\b(?:append|include|add|embed|open|visit|fetch|load|call)\b[^.\n]{{0,60}}?https?://\S{{1,200}}[^\n]{{0,80}}?\b{LOOT}"
        rf"|\b(?:every|all|any)\s+(?:\w+\s+)?{LOOT}\s+(?:\w+\s+)?(?:be\s+)?(?:copied|sent|posted|uploaded|forwarded|exported)\b",
        strong=False,
        needs=":// copied sent posted uploaded forwarded exported",
    ),
    InjectionSign(
        "plants itself for later sessions",
        r"\b(?:remember|store|save|keep)\s+(?:this\s+|it\s+)?(?:permanently|forever|for good)\b"
        r"|\bpermanently (?:remember|store|save)\b|\b(?:store|save|keep|remember)\s+(?:this|it)\s+"
        r"(?:\w+\s+){0,3}?as (?:trusted|verified|approved|human)\b",
        strong=False,
        needs="permanently forever good trusted verified approved human",
    ),
    InjectionSign(
        "reads secrets and passes them on",
        r"\b(?:cat|type|less|head|tail|read|open|print|paste)\s+(?:\w+\s+){0,2}?(?:the\s+)?(?:file\s+)?"
        r"(?:/etc/(?:passwd|shadow)|~?/?\S{0,60}\.aws/credentials|~?/?\S{0,60}\.ssh/|\S{0,60}id_rsa|\S{0,60}id_ed25519)",
        strong=False,
        needs="/etc/ .aws .ssh id_rsa id_ed25519",
    ),
    InjectionSign(
        "orders a tool call",
        r"\"(?:tool|name|function|tool_name|recipient_name)\"\s*:\s*\"[\w.:/-]{1,60}\"\s*,\s*"
        r"\"(?:arguments|parameters|input|args|params)\"\s*:",
        strong=False,
        needs="arguments parameters input args params",
    ),
    InjectionSign(
        "addresses an assistant that reads it",
        rf"(?:^|[.!?\n])\s*(?:attention,?\s+)?{AI}(?:\s*/\s*{AI}){{0,3}}\s*[:,]\s*stop\b",
        strong=False,
        needs="stop",
    ),
)


INDIRECTION: tuple[InjectionSign, ...] = (
    InjectionSign(
        "tells the assistant to drop its instructions",
        r"\byou (?:no longer|don't|do not|needn't)\s+(?:need to|have to|must)?\s*(?:follow|obey|respect|adhere to)\s+"
        r"(?:\w+\s+){0,3}?(?:rules?|instructions?|guidelines?|polic(?:y|ies)|restrictions?)\b",
        needs="rule instruction guideline polic restriction & follow obey respect adhere",
    ),
    InjectionSign(
        "tells the assistant to drop its instructions",
        r"\b(?:set aside|ignore|forget|disregard|drop)\s+(?:\w+\s+){0,3}?you (?:were|have been|are) "
        r"(?:given|told|shown)\b"
        r"|\b(?:rules|instructions|guidelines) above (?:were|are|was)\s+(?:only\s+|just\s+)?(?:an?\s+)?"
        r"(?:test|fake|void|outdated|obsolete|joke|not real)",
        strong=False,
        needs="given told shown above",
    ),
    InjectionSign(
        "claims to be the assistant's new instructions",
        r"\bthe (?:real|actual|true) (?:task|goal|objective|mission|job|instructions?)\s+(?:here\s+)?(?:is|are)\b"
        r"|\b(?:has|have|takes?) (?:priority|precedence) over "
        r"(?:it|them|everything|all|any|the (?:rules|instructions))\b",
        strong=False,
        needs="real actual true priority precedence",
    ),
    InjectionSign(
        "takes its orders from the network",
        r"\b(?:open|fetch|visit|read|load|get|download|retrieve|browse)\s+(?:\w+\s+){0,3}?https?://\S{1,200}\s"
        r"[^.\n]{0,40}?(?:and|then)\s+(?:then\s+)?(?:do|follow|carry out|execute|obey|perform|apply)\s+"
        r"(?:\w+\s+){0,3}?(?:steps|instructions|orders|commands|page|says|there|it|what)\b",
        needs="://",
        reach=500,
    ),
    InjectionSign(
        "reads secrets and passes them on",
        r"\b(?:env|printenv|(?:cat|tar|zip|base64|gzip)\s[^|\n]{0,120}(?:\.env\b|id_rsa|id_ed25519|credentials|\.netrc"
        r"|\.ssh|\.aws|\.gnupg|\.npmrc|\.pypirc))[^|\n]{0,60}\|[^\n]{0,120}\b(?:curl|wget|nc|ncat|socat)\b",
        needs="curl wget nc ncat socat",
    ),
    InjectionSign(
        "asks for a back door",
        r"\b(?:open|start|spawn|create|launch)\s+a\s+reverse shell\s+(?:to|on|at|towards)\b",
        needs="reverse",
    ),
    InjectionSign(
        "forges the marks of a conversation",
        r"\bassistant to=\w|(?:^|\n)\s*user\s*:\s*\S[^\n]{0,400}\n+\s*(?:assistant|ai|model|claude|gpt)\s*:\s*\S",
        needs="to= assistant ai model claude gpt & to= user",
        reach=600,
    ),
    InjectionSign(
        "forges the marks of a conversation",
        r"\"role\"\s*:\s*\"system\"|(?:^|\n)\s*tool (?:result|output|response)\s*:",
        strong=False,
        needs="role tool",
    ),
    InjectionSign(
        "claims authority over the assistant",
        rf"\b(?:permission|approval|consent|confirmation)\s+(?:was\s+|is\s+)?(?:granted|given|received|confirmed)\s+"
        rf"(?:by|from)\s+(?:the\s+)?{ABOVE}\b"
        rf"|\b(?:verified|certified|issued|endorsed) by (?:anthropic|openai|google|the security team)\b"
        rf"|\bas (?:if (?:it|they) (?:came|were)|coming|though (?:it|they) came)\s+from\s+(?:its|the|your|an?)\s+"
        rf"(?:\w+\s+)?{ABOVE}\b",
        strong=False,
        needs="granted given received confirmed verified certified issued endorsed came coming were",
    ),
    InjectionSign(
        "claims authority over the assistant",
        rf"\btreat\s+(?:\w+\s+){{0,4}}?(?:messages?|texts?|words?|orders?|requests?|input|notes?|paragraph|content)\b"
        rf"[^.\n]{{0,40}}?\bas (?:if|though|coming|your|trusted|new)\b"
        rf"[^.\n]{{0,30}}?\b(?:{ABOVE}|instructions?|orders?)\b",
        needs="treat",
    ),
    InjectionSign(
        "demands obedience of the assistant",
        r"\b(?:may|must|can|should) not be (?:questioned|doubted|disobeyed|challenged|overridden)\b"
        r"|\byou (?:only )?obey\b|\bhas to be obeyed\b|\bdo exactly (?:what|as)\b",
        strong=False,
        needs="questioned doubted disobeyed challenged overridden obey exactly",
    ),
    InjectionSign(
        "puts words into the assistant's mouth",
        r"\b(?:when|while|if)\s+(?:you\s+)?(?:summari[sz](?:ing|e)|review(?:ing)?|describ(?:ing|e)|translat(?:ing|e)"
        r"|quot(?:ing|e)|rat(?:ing|e))\s+this\s+(?:\w+\s+)?(?:page|file|document|repo\w*|code|text|issue|pull request"
        r"|e-?mail|message|note|article)\b,?\s*(?:always\s+|please\s+|you must\s+)?(?:say|state|claim|add|include"
        r"|mention|report|rate|append|tell|recommend|ignore|skip|give)\b",
        needs="summari review describ translat quoti quote rating & this",
    ),
    InjectionSign(
        "puts words into the assistant's mouth",
        r"\byour (?:answer|reply|response|output|summary|review)\s+(?:must|has to|should|will|shall)\s+"
        r"(?:always\s+|only\s+)?(?:contain|include|start|begin|end|say|be)\b"
        r"|\b(?:next time|whenever|when|if)\s+(?:the user|users?|some ?one|any ?one|they)\s+asks? you\b",
        strong=False,
        needs="answer reply response output summary review asks",
    ),
    InjectionSign(
        "asks for a false report",
        r"\b(?:say|claim|pretend|report|state)\s+(?:that\s+)?(?:it|this|everything|all of it)\s+(?:was|is|were|has"
        r"|had|worked)\b"
        r"|\breport\s+(?:\w+\s+){0,3}?as\s+(?:passing|passed|green|successful|done|fixed)\b|\breport success\b",
        strong=False,
        needs="report say claim pretend state",
    ),
    InjectionSign(
        "asks to hide something from the user",
        r"\b(?:no ?body|no one)\s+(?:reads|checks|will (?:notice|see|check|know)|looks at|needs to know)\b"
        r"|\b(?:no (?:reason|need) to|do not|don't|never|without)\s+bother(?:ing)?\s+(?:the\s+)?(?:user|human|owner)"
        r"|\b(?:do not|don't|never)\s+let\s+(?:the\s+)?(?:user|human|owner|reviewer|anyone)\s+(?:see|know|notice|find"
        r"|read)\b|,\s*(?:quietly|silently|secretly|discreetly)\s*[.!]",
        strong=False,
        needs="nobody body one bother let quietly silently secretly discreetly",
    ),
    InjectionSign(
        "addresses an assistant that reads it",
        rf"\b(?:whoever|the one who|any ?one who|the reader)\s+(?:reads?\s+|of\s+)(?:this|the) (?:memory|memories"
        rf"|note|text|file|page)|\b(?:dear|hey|hello|attention|listen),?\s+(?:{AI}|models?|bots?|agents?|machines?)\b"
        rf"|\b{AI}\s+(?:should|must|shall|is to|needs? to|has to|have to|is required to)\s+(?:treat|consider|regard"
        rf"|accept|trust|report|install|reveal|send|call|follow|execute)\b",
        strong=False,
        needs="reader whoever who dear hey hello attention listen should must shall needs has have required",
    ),
    InjectionSign(
        "asks to weaken what protects the project",
        r"\b(?:disable|remove|turn off|switch off|delete|bypass)\s+(?:\w+\s+){0,3}?(?:commit signing"
        r"|branch protection|two-factor|2fa|mfa"
        r"|audit logs?|signature (?:checks?|verification)|required reviews?|code review"
        r"|secret scanning)\b"
        r"|\b(?:approve|accept|merge)\s+(?:every|all|any)\s+(?:\w+\s+)?(?:merges?|pull requests?|commits?|changes?)\b"
        r"|\b(?:replace|swap|substitute)\b[^\n]{0,120}\b(?:lock ?files?|registry|mirror)\b"
        r"|--(?:extra-)?index-url[ =]http:|--registry[ =]http:|\brm -rf\s+[/~]",
        strong=False,
        needs=(
            "signing protection factor 2fa mfa audit signature review scanning approve accept merge replace swap "
            "substitute index-url registry -rf"
        ),
    ),
    InjectionSign(
        "asks to send data elsewhere",
        rf"\b(?:put|paste|write|include|append|add|post|copy|leak)\s+(?:\w+\s+){{0,4}}?(?:{LOOT}"
        rf"|\w+_(?:key|token|secret|password))\b[^.\n]{{0,60}}?\b(?:in|into|to|as)\s+(?:the\s+|a\s+|your\s+)?(?:next\s+)?"
        rf"(?:commit message|pull request|issue|public|gist|bug report|branch name|answer|reply|comment)\b",
        strong=False,
        needs="commit pull issue public gist bug branch answer reply comment",
    ),
)
