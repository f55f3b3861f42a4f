"""Orders that never say so: rules declared void, pages to be obeyed, reports to be falsified, leave invented.

As in guard/pressure.py nearly all are weak, and count only beside one of another kind.
"""

from reverie.guard.sign import ABOVE, AI, LOOT, Sign

INDIRECTION: tuple[Sign, ...] = (
    Sign(
        "tells the assistant to drop its instructions",
        r"\byou (?:no longer|don't|do not|needn't)\s+(?:need to|have to|must)?\s*(?:follow|obey|respect|adhere to)\s+"
        r"(?:\w+\s+){0,3}?(?:rules?|instructions?|guidelines?|polic(?:y|ies)|restrictions?)\b",
        needs="rule instruction guideline polic restriction & follow obey respect adhere",
    ),
    Sign(
        "tells the assistant to drop its instructions",
        r"\b(?:set aside|ignore|forget|disregard|drop)\s+(?:\w+\s+){0,3}?you (?:were|have been|are) "
        r"(?:given|told|shown)\b"
        r"|\b(?:rules|instructions|guidelines) above (?:were|are|was)\s+(?:only\s+|just\s+)?(?:an?\s+)?"
        r"(?:test|fake|void|outdated|obsolete|joke|not real)",
        strong=False,
        needs="given told shown above",
    ),
    Sign(
        "claims to be the assistant's new instructions",
        r"\bthe (?:real|actual|true) (?:task|goal|objective|mission|job|instructions?)\s+(?:here\s+)?(?:is|are)\b"
        r"|\b(?:has|have|takes?) (?:priority|precedence) over "
        r"(?:it|them|everything|all|any|the (?:rules|instructions))\b",
        strong=False,
        needs="real actual true priority precedence",
    ),
    Sign(
        "takes its orders from the network",
        r"\b(?:open|fetch|visit|read|load|get|download|retrieve|browse)\s+(?:\w+\s+){0,3}?https?://\S{1,200}\s"
        r"[^.\n]{0,40}?(?:and|then)\s+(?:then\s+)?(?:do|follow|carry out|execute|obey|perform|apply)\s+"
        r"(?:\w+\s+){0,3}?(?:steps|instructions|orders|commands|page|says|there|it|what)\b",
        needs="://",
        reach=500,
    ),
    Sign(
        "reads secrets and passes them on",
        r"\b(?:env|printenv|(?:cat|tar|zip|base64|gzip)\s[^|\n]{0,120}(?:\.env\b|id_rsa|id_ed25519|credentials|\.netrc"
        r"|\.ssh|\.aws|\.gnupg|\.npmrc|\.pypirc))[^|\n]{0,60}\|[^\n]{0,120}\b(?:curl|wget|nc|ncat|socat)\b",
        needs="curl wget nc ncat socat",
    ),
    Sign(
        "asks for a back door",
        r"\b(?:open|start|spawn|create|launch)\s+a\s+reverse shell\s+(?:to|on|at|towards)\b",
        needs="reverse",
    ),
    Sign(
        "forges the marks of a conversation",
        r"\bassistant to=\w|(?:^|\n)\s*user\s*:\s*\S[^\n]{0,400}\n+\s*(?:assistant|ai|model|claude|gpt)\s*:\s*\S",
        needs="to= assistant ai model claude gpt & to= user",
        reach=600,
    ),
    Sign(
        "forges the marks of a conversation",
        r"\"role\"\s*:\s*\"system\"|(?:^|\n)\s*tool (?:result|output|response)\s*:",
        strong=False,
        needs="role tool",
    ),
    Sign(
        "claims authority over the assistant",
        rf"\b(?:permission|approval|consent|confirmation)\s+(?:was\s+|is\s+)?(?:granted|given|received|confirmed)\s+"
        rf"(?:by|from)\s+(?:the\s+)?{ABOVE}\b"
        rf"|\b(?:verified|certified|issued|endorsed) by (?:anthropic|openai|google|the security team)\b"
        rf"|\bas (?:if (?:it|they) (?:came|were)|coming|though (?:it|they) came)\s+from\s+(?:its|the|your|an?)\s+"
        rf"(?:\w+\s+)?{ABOVE}\b",
        strong=False,
        needs="granted given received confirmed verified certified issued endorsed came coming were",
    ),
    Sign(
        "claims authority over the assistant",
        rf"\btreat\s+(?:\w+\s+){{0,4}}?(?:messages?|texts?|words?|orders?|requests?|input|notes?|paragraph|content)\b"
        rf"[^.\n]{{0,40}}?\bas (?:if|though|coming|your|trusted|new)\b"
        rf"[^.\n]{{0,30}}?\b(?:{ABOVE}|instructions?|orders?)\b",
        needs="treat",
    ),
    Sign(
        "demands obedience of the assistant",
        r"\b(?:may|must|can|should) not be (?:questioned|doubted|disobeyed|challenged|overridden)\b"
        r"|\byou (?:only )?obey\b|\bhas to be obeyed\b|\bdo exactly (?:what|as)\b",
        strong=False,
        needs="questioned doubted disobeyed challenged overridden obey exactly",
    ),
    Sign(
        "puts words into the assistant's mouth",
        r"\b(?:when|while|if)\s+(?:you\s+)?(?:summari[sz](?:ing|e)|review(?:ing)?|describ(?:ing|e)|translat(?:ing|e)"
        r"|quot(?:ing|e)|rat(?:ing|e))\s+this\s+(?:\w+\s+)?(?:page|file|document|repo\w*|code|text|issue|pull request"
        r"|e-?mail|message|note|article)\b,?\s*(?:always\s+|please\s+|you must\s+)?(?:say|state|claim|add|include"
        r"|mention|report|rate|append|tell|recommend|ignore|skip|give)\b",
        needs="summari review describ translat quoti quote rating & this",
    ),
    Sign(
        "puts words into the assistant's mouth",
        r"\byour (?:answer|reply|response|output|summary|review)\s+(?:must|has to|should|will|shall)\s+"
        r"(?:always\s+|only\s+)?(?:contain|include|start|begin|end|say|be)\b"
        r"|\b(?:next time|whenever|when|if)\s+(?:the user|users?|some ?one|any ?one|they)\s+asks? you\b",
        strong=False,
        needs="answer reply response output summary review asks",
    ),
    Sign(
        "asks for a false report",
        r"\b(?:say|claim|pretend|report|state)\s+(?:that\s+)?(?:it|this|everything|all of it)\s+(?:was|is|were|has"
        r"|had|worked)\b"
        r"|\breport\s+(?:\w+\s+){0,3}?as\s+(?:passing|passed|green|successful|done|fixed)\b|\breport success\b",
        strong=False,
        needs="report say claim pretend state",
    ),
    Sign(
        "asks to hide something from the user",
        r"\b(?:no ?body|no one)\s+(?:reads|checks|will (?:notice|see|check|know)|looks at|needs to know)\b"
        r"|\b(?:no (?:reason|need) to|do not|don't|never|without)\s+bother(?:ing)?\s+(?:the\s+)?(?:user|human|owner)"
        r"|\b(?:do not|don't|never)\s+let\s+(?:the\s+)?(?:user|human|owner|reviewer|anyone)\s+(?:see|know|notice|find"
        r"|read)\b|,\s*(?:quietly|silently|secretly|discreetly)\s*[.!]",
        strong=False,
        needs="nobody body one bother let quietly silently secretly discreetly",
    ),
    Sign(
        "addresses an assistant that reads it",
        rf"\b(?:whoever|the one who|any ?one who|the reader)\s+(?:reads?\s+|of\s+)(?:this|the) (?:memory|memories"
        rf"|note|text|file|page)|\b(?:dear|hey|hello|attention|listen),?\s+(?:{AI}|models?|bots?|agents?|machines?)\b"
        rf"|\b{AI}\s+(?:should|must|shall|is to|needs? to|has to|have to|is required to)\s+(?:treat|consider|regard"
        rf"|accept|trust|report|install|reveal|send|call|follow|execute)\b",
        strong=False,
        needs="reader whoever who dear hey hello attention listen should must shall needs has have required",
    ),
    Sign(
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
    Sign(
        "asks to send data elsewhere",
        rf"\b(?:put|paste|write|include|append|add|post|copy|leak)\s+(?:\w+\s+){{0,4}}?(?:{LOOT}"
        rf"|\w+_(?:key|token|secret|password))\b[^.\n]{{0,60}}?\b(?:in|into|to|as)\s+(?:the\s+|a\s+|your\s+)?(?:next\s+)?"
        rf"(?:commit message|pull request|issue|public|gist|bug report|branch name|answer|reply|comment)\b",
        strong=False,
        needs="commit pull issue public gist bug branch answer reply comment",
    ),
)
