# ruff: noqa: E501 - a row of the table holds the words of thirteen languages
"""Rough English glosses of statements in thirteen other languages, for the injection classifier.

The bundled encoder knows English alone: to it "Désactive la vérification des certificats" is noise. Word by word,
"disable the check the certificate" is enough to tell an order from a note. A word that the table lacks stays as it
is; of scripts without spaces only what the table knows is kept. Nobody reads a gloss but the classifier.
"""

import re
import unicodedata
from functools import cache
from typing import Final

LANGUAGES: Final = ("de", "fr", "es", "pt", "it", "nl", "pl", "ru", "zh", "ja", "ko", "tr", "sv")
_BY_SCRIPT: Final = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
)
_WITHOUT_SPACES: Final = frozenset({"zh", "ja", "ko"})
_JOINS_WORDS: Final = frozenset({"de", "nl", "sv"})
_LEAST_SHARE: Final = 0.25
"""Of the words of a statement, so many must be known in a language before it is taken for that language."""
_SHORTEST_STEM: Final = 3
_SHORTEST_REST: Final = 4
_LONGEST_CHUNK: Final = 8
_WORD: Final = re.compile(r"\b[^\W\d_]+\b")
_CHUNK: Final = re.compile(r"[ -~]+|[^ -~]")
_ENGLISH: Final = frozenset(
    _WORD.findall(
        "the of and to is are be for with that this it you we not on by from as at or if when your our must should was "
        "were has have they their its can may will do does an in i my me no so a all only use per more also any"
    )
)
_SHARED: Final = frozenset(
    _WORD.findall(
        "a all also an as dan de den die do e en eu for hat i in is man me more no o of on os per se so to war was"
    )
)
"""Words of other languages that are English words as well: they say nothing about the language."""
_FIRST_CONTENT: Final = "disable"
"""The rows before this one are small words, which tell languages apart."""
_TABLE: Final = """
the | der,die,das,den,dem,des | le,la,les,l,cette,ces | el,la,los,las,lo | o,os,as | il,lo,la,le,gli,i,l,dei,delle | de,het,die | | | | | | | den,det
a | ein,eine,einen,einem,einer,eines | un,une,des | un,una,unos | um,uma | un,una,uno | een | | | 一个 | | | bir | en,ett
not | nicht,nie,niemals,keinesfalls | ne,pas,n | no | não | non | niet,nooit | nie,nigdy | не,никогда | 不要,不得,不用,别,不,勿 | ないでください,ないこと,せずに,しない,ない,ず | 지 마세요,지 마라,지 말고,지 마,않 | değil,etme,yapma,asla | inte,aldrig
no | kein,keine,keinen,keiner,keinem | aucun,aucune | ningún,ninguna,sin,nada | nenhum,nenhuma,sem,nada | nessun*,niente,nulla | geen,niets | żad*,nic | нет,ничего,нельзя,никак* | 没有,无 | なし,無し | 없이,없 | yok,hiçbir | ingen,inget,inga
and | und,sowie | et | y,e | e | e,ed | en | i,oraz | и,а | 并且,并,和,而且,然后 | そして,また | 그리고,고 | ve | och
or | oder | ou | o,u | ou | o | of | lub,albo | или | 或 | または,か | 또는 | veya | eller
but | aber,sondern | mais | pero,sino | mas | ma | maar | ale | но | 但 | しかし,が、 | 하지만 | ama | men
when | wenn,falls,sobald,wann | quand,lorsque,dès,si,lorsqu | cuando,si | quando,se | quando,se,appena | als,wanneer,zodra,indien | gdy,kiedy,jeśli,jeżeli | когда,если,как | 当,如果,一旦,时候,时 | たら,場合,とき,時,れば | 때,하면,경우 | eğer,zaman,olduğunda,ise | när,om
whenever | immer,jedes | chaque,toutes | cada,siempre | sempre,cada,toda | ogni,sempre,ogniqualvolta | telkens,steeds,altijd | zawsze,każd*,ilekroć | всегда,каждый,каждого,каждом,постоянно | 每当,每次,每,总是,始终 | 毎回,たびに,常に,いつも,必ず | 항상,마다,매번 | her,daima | alltid,varje
before | vor,bevor,zuvor,vorher | avant | antes | antes | prima | voordat,voor,eerst | przed,zanim | перед,прежде,до,сначала | 之前,前先,先 | 前に,先に,まず | 전에,먼저 | önce | innan,före
after | nach,nachdem,danach | après | después,tras,luego | depois,após | dopo | na,nadat,daarna | po,potem | после,затем,потом | 之后,后 | 後に,後は,その後 | 후에,다음 | sonra | efter,sedan
from now on | künftig,fortan,zukünftig | désormais,dorénavant | adelante | doravante | d'ora,poi | voortaan,vanaf | odtąd,teraz | отныне,впредь,теперь,с этого | 从现在起,从现在开始,今后,以后 | 今後,これから,以降 | 앞으로,이제부터 | bundan,artık | hädanefter,framöver
from | von,aus,vom,ab | depuis,de,du,des,d | de,desde,del | de,da,do,das,dos,desde | da,dal,dalla,di | van,uit | z,ze,od | из,от,с,со | 从 | から | 에서,부터 | den,dan | från
to | zu,zum,zur,nach,an | à,au,aux,vers | a,al,hacia | a,ao,à,para | a,al,alla,ai | naar,aan | do,na | к,в,на,для | 到,给,至,向 | へ,に | 에게,로 | için | till,att
in | in,im,ins,bei,auf | dans,en,sur | en,sobre | em,no,na,nos,nas | in,nel,nella,su,sul | in,op,bij | w,we | во,о,об,про | 在,里,中 | で,内 | 에,안 | içinde,de,da | i,på
with | mit,samt | avec | con | com | con | met | z | с | 用,以 | で,と共に | 와,과 | ile,birlikte | med
without | ohne | sans | sin | sem | senza | zonder | bez | без | 无需,不经,不必 | なしで,不要 | 없이,불필요 | olmadan,sız | utan
for | für | pour | para,por | por,pelo,pela | per | voor | dla | для,за | 为,对 | ため,用に | 위해 | için | för
is | ist,sind,wird,werden,gilt,gelten | est,sont,sera | es,está,son,están,queda,quedan | é,está,são,estão,fica | è,sono,viene,va | is,zijn,wordt,worden | jest,są,będzie | есть,является,будет | 是,为 | です,である,ます | 이다,입니다,다 | dir,olur | är,blir
was | war,waren,wurde,wurden,worden | était,étaient,été,fut | fue,fueron,era,han,sido | foi,foram,era,sido | era,stato,stata,stati,state | was,waren,werd,werden | był*,został* | был,была,было,были | 已,了,曾 | ました,た。,済み | 했,었 | idi,edildi | var,blev
has | hat,haben,hatte | a,ont,avons | ha,han,hemos,tiene | tem,têm,temos | ha,hanno,abbiamo | heeft,hebben | ma,mają | имеет | 有 | ある,持つ | 있 | var,sahip | har,hade
must | muss,müssen,soll,sollen,sollst,sollte,bitte | doit,doivent,faut,veuillez | debe,deben,debes | deve,devem,precisa | deve,devono,bisogna,devi | moet,moeten,dient | musi,muszą,należy,trzeba,proszę | должен,должна,должны,нужно,надо,следует,пожалуйста | 必须,应,请,需要,要 | べき,ください,こと。,必要 | 해야,하세요,십시오,해라 | gerek,lazım,lütfen | måste,ska,bör
may | darf,darfst,dürfen,kann,kannst,können | peut,peuvent,peux,pouvez | puede,pueden,puedes | pode,podem | può,puoi,possono,possiamo | mag,mogen,kan,kunnen | może*,mogą,można,wolno | может,можно,можешь,могут | 可以,能,可 | できる,可能,いいです,よい | 수 있,해도 | olabilir,edebilir* | får,kan
all | alle,allen,aller,alles,sämtlich*,jeder,jede,jeden,jedem,pauschal | tous,toute,tout,toutes,chaque | todos,todas,todo,toda,cualquier* | todos,todas,tudo,qualquer,quaisquer | tutti,tutte,tutto,ogni,qualsiasi,qualunque | alle,alles,elke,elk,ieder* | wszystk*,wszelk*,każd*,dowoln* | все,всех,всё,всем,любые,любой,любых,всякий | 所有,全部,一切,任何,都 | すべて,全て,全部,あらゆる | 모든,전부 | tüm,bütün,her | alla,allt,samtliga
only | nur,lediglich,ausschließlich,allein | seulement,uniquement,seul,seule | solo,sólo,únicamente,solamente | só,somente,apenas,unicamente | solo,soltanto,unicamente,esclusivamente | alleen,enkel,slechts | tylko,wyłącznie,jedynie | только,лишь,единственн* | 只,仅,唯一 | だけ,のみ | 만 ,오직 | sadece,yalnızca | bara,endast
also | auch,ebenfalls,zusätzlich | aussi,également | también,además | também,além | anche,inoltre | ook,tevens | też,także,również | также,тоже | 也,同时 | も | 도,또한 | ayrıca,da | också,även
instead of | statt,anstelle,anstatt | plutôt,lieu,place | lugar,vez | vez,lugar | invece,posto | plaats | zamiast | вместо | 而不是,代替,改用 | 代わりに,ではなく | 대신 | yerine | istället
you | du,dich,dir,sie,ihr | tu,te,toi,vous | tú,te,ti,usted | você,te,tu | tu,ti,te | je,jij,u | ty,ciebie | ты,тебя,тебе,вы | 你,您 | あなた,君 | 당신,너 | sen,siz | du,dig
your | dein*,ihre* | ton,ta,tes,votre,vos | tu,tus,su | seu,sua,seus,suas | tuo,tua,tuoi | jouw,je,uw | twoj*,swoj* | твой,твоя,свои,своих,ваш | 你的,自己的 | 自分の,あなたの | 너의,자신의 | senin,kendi | din,ditt,dina
we | wir,uns | nous,on | nosotros,nos,hemos,usamos,usaremos | nós,nos,usamos | noi,ci,usiamo | we,wij,ons | my,nam,nas,używamy | мы,нас,нам,используем | 我们 | 私たち,我々,うち | 우리 | biz | vi,oss
our | unser* | notre,nos | nuestr* | noss* | nostr* | onze | nasz* | наш* | 我们的 | 弊社 | 저희 | bizim | vår,våra,vårt
I | ich,mich,mir,mein* | je,j,me,moi,mon,mes | yo,me,mi,mis | eu,me,meu,minha | io,mi,mio,mia | ik,mij,mijn | ja,mnie,mój | я,меня,мне,мой | 我 | 私,僕 | 나는,저는 | ben,benim | jag,mig,min
this | dies*,hier | ce,cet,cette,celle,celui,ici | este,esta,esto,estas,aquí | este,esta,isto,aqui | questo,questa,questi,qui | dit,deze,hier | ten,ta,to,tej,tego,tym,tutaj | это,этот,эта,этой,эту,этом,здесь | 这,本,此,该 | この,これ,本 | 이 ,이것 | bu,burada | denna,detta,här
that | dass,jen* | que,qu,cela,ça | que,eso,ese | que,isso | che,quello | dat,die | że,który* | что,чтобы,котор* | 那 | その,という | 그 | ki,o | att,som
already | bereits,schon | déjà | ya | já | già | al,reeds | już | уже | 已经,早已 | すでに,既に | 이미 | zaten | redan
now | jetzt,nun,derzeit,aktuell | maintenant,actuellement | ahora,actualmente | agora,atualmente | ora,adesso,attualmente | nu,momenteel | teraz,obecnie | сейчас,теперь | 现在,目前 | 今,現在 | 지금,현재 | şimdi | nu
everywhere | überall | partout | partes | toda,parte | ovunque,dappertutto | overal | wszędzie | везде,всюду,повсюду | 到处 | どこでも | 어디서나 | her yerde | överallt
nobody | niemand* | personne | nadie | ninguém | nessuno | niemand | nikt,nikomu | никто,никому | 没人,任何人 | 誰にも | 아무도 | kimse* | ingen
someone | jemand*,man | quelqu,on | alguien | alguém | qualcuno | iemand | ktoś | кто-нибудь,кто-то | 有人 | 誰か | 누군가 | biri | någon
because | weil,da,denn | car,parce,puisque | porque,ya,pues | porque,pois | perché,poiché | omdat,want | bo,ponieważ,gdyż | потому,так,поскольку | 因为,由于 | ので,から、 | 때문 | çünkü | eftersom
nothing | nichts | rien | nada | nada | niente,nulla | niets | nic | ничего | 什么都不 | 何も | 아무것도 | hiçbir | ingenting
no longer | mehr | plus | más | mais | più | meer | więcej | больше | 不再 | もう | 더 이상 | artık | längre
today | heute,gestern | aujourd,hier | hoy,ayer | hoje,ontem | oggi,ieri | vandaag,gisteren | dziś,wczoraj | сегодня,вчера | 今天,昨天 | 今日,昨日 | 오늘,어제 | bugün,dün | idag,igår
so that | damit | afin | fin | fim | affinché | zodat | aby,żeby | чтобы | 以便,以免 | ように | 도록 | diye | så
disable | deaktivier*,abschalt*,abgeschaltet*,abzuschalten,ausschalt*,ausgeschaltet*,schalte,abstell*,aushebel* | désactiv*,coupe*,éteins | desactiv*,apag*,deshabilit* | desativ*,deslig*,desabilit* | disattiv*,disabilit*,spegn* | uitschakel*,uitgeschakeld,schakel,uitzetten | wyłącz* | отключ*,выключ* | 关闭,关掉,停用,禁用 | 無効,オフ,切って | 끄,비활성,꺼 | kapat*,devre | stäng*,inaktiver*
enable | aktivier*,einschalt* | activ* | activ*,habilit* | ativ*,habilit* | attiv*,abilit* | inschakel*,aanzetten | włącz* | включ* | 开启,启用 | 有効 | 켜,활성 | aç*,etkin* | aktiver*
remove | entfern*,rausnehm*,wegnehm* | retir*,enlèv*,enlev* | quit*,elimin*,retir* | remov*,retir*,tir* | rimuov*,rimoss*,togli*,elimin* | verwijder*,weghal* | usuń,usuwa*,usunię* | убери*,убра*,удали*,снять,сними | 去掉,移除 | 外して,取り除,除去 | 제거 | kaldır* | ta,bort
delete | lösch*,gelöscht* | supprim*,efface* | borr*,suprim*,elimin* | apag*,exclu*,delet* | cancell*,elimin* | wis,wissen,gewist | usun*,kasow*,skasuj* | удал*,стира*,сотри | 删除,删掉,清空 | 削除,消して | 삭제 | sil,silin*,silme* | rader*
add | füge,hinzufüg*,hinzu,ergänz*,hänge,anhäng* | ajout* | añad*,agreg*,inclu* | adicion*,inclu*,acrescent* | aggiung*,inser*,includ* | voeg,toevoeg*,toe | dodaj*,dodan*,dołącz* | добав*,впиши | 添加,加入,加上,新增,附上 | 追加,加えて | 추가 | ekle* | lägg,till
skip | überspring*,auslassen,übergeh* | saut*,ignor*,passe | salt*,omit* | pul*,ignor* | salt*,ignor* | overslaan,sla,oversla* | pomiń,pomija*,omij* | пропус* | 跳过,略过 | スキップ,飛ばし,省略 | 건너뛰,생략 | atla* | hoppa,över
ignore | ignorier*,missacht* | ignor* | ignor* | ignor*,desconsider* | ignor* | negeer,negeren | zignoruj*,ignoruj* | игнорир* | 忽略,无视 | 無視 | 무시 | yok say*,görmezden | ignorer*
forget | vergiss,vergessen* | oubli* | olvid* | esqueç*,esquec* | dimentic* | vergeet,vergeten | zapomnij*,zapomn* | забудь*,забыть | 忘记,忘掉 | 忘れ | 잊 | unut* | glöm*
replace | ersetz*,tausche* | remplac* | reemplaz*,sustitu*,cambi* | substitu*,troc*,troque* | sostitu* | vervang* | zastąp*,zamień,podmień | замен* | 替换,更换,改成,换成 | 置き換え,差し替え,変更 | 교체,바꾸 | değiştir* | ersätt*,byt*
install | installier*,einspiel*,spiele | install* | instal* | instal* | install* | installe* | zainstaluj*,instaluj*,instalow* | установ*,ставь,ставить | 安装 | インストール | 설치 | kur,kurun,yükle* | installer*
use | verwend*,nutz*,benutz*,nimm,nehmen | utilis*,prend*,prenez | usa,usar,utiliz*,use,usamos | use,usar,usa,utiliz*,usamos | usa,usare,utilizz*,usiamo | gebruik*,neem | użyj*,używa*,korzysta* | использ*,бери,берите | 使用,采用,用 | 使って,使い,使用,利用 | 사용,쓰 | kullan* | använd*
run | führe,ausführ*,laufen,lauf,starte* | exécut*,lanc*,tourne* | ejecut*,correr,lanza* | execut*,rode,roda*,rodar | esegu*,lanci* | voer,uitvoer*,draai* | uruchom*,uruchamia*,wykonaj* | выполн*,запус* | 运行,执行,跑 | 実行,走らせ,動かし | 실행 | çalıştır* | kör*
send | schick*,send*,sende,übermitt*,leite,weiterleit* | envo*,transmet*,transmettre | enví*,envi*,manda*,reenv* | envi*,mand*,encaminh* | invi*,mand*,inoltr*,spedisc* | stuur*,verstuur*,verzend* | wyślij*,wysyła*,prześlij*,przesyła* | отправ*,пошли*,пересыл*,перешли | 发送,发给,发到,转发 | 送信,送って,送り,転送 | 보내,전송 | gönder* | skicka*
upload | hochlad*,lade,hoch | télévers*,charge* | sube*,subir,subas,carga* | sub*,carreg*,faça | caric* | upload*,zet | wgraj*,wrzuc*,prześlij | загруз*,залей,выложи | 上传 | アップロード,上げて | 업로드,올려 | yükle* | ladda,upp
share | teil* | partag* | compart* | compartilh*,partilh* | condivid* | deel,delen,gedeeld | udostępn* | подел*,передай* | 分享,共享,提供 | 共有,渡し | 공유 | paylaş* | dela
publish | veröffentlich*,publizier* | publi* | public* | public* | pubblic* | publice* | opublikuj*,publik* | опублик*,выкладыва* | 发布,公开 | 公開 | 공개,게시 | yayınla* | publicer*
copy | kopier* | copi* | copi* | copi* | copi* | kopieer*,kopiër* | skopiuj*,kopi* | скопир*,копир* | 复制,拷贝 | コピー | 복사 | kopyala* | kopier*
write | schreib*,trag*,eintrag* | écri*,inscri*,not* | escrib*,anot*,pon,apunt* | escrev*,anot*,colo* | scriv*,annot* | schrijf*,noteer | napisz*,pisz*,pisać,wpisz*,zapisz* | пиши*,напиши*,запиши*,указыва* | 写,写入,写进 | 書い,書か,記載,書き | 쓰,적,기록 | yaz* | skriv*
read | lies,lesen,gelesen | lis,lire,lisez | lee,leer | ler,leia,lê | legg* | lees,lezen | czyta*,odczyt* | чита*,прочит* | 读取,阅读,看 | 読み,読む,読んで | 읽 | oku* | läs*
open | öffn* | ouvr* | abr* | abr* | apr* | open*,opent | otw*,otwórz | откр* | 打开,开放 | 開い,開け | 열 | aç* | öppna*
push | pushe*,schieb* | pouss* | sube*,subas,empuj* | empurr*,enviar | spinge*,pusha* | push* | wypychaj*,push* | пуш* | 推送,提交 | プッシュ | 푸시 | push | pusha*
commit | committ*,einchecken,eincheck* | commit*,valid* | confirma*,commit* | commit*,comit* | committ* | commit*,inchecken | commituj*,zatwierdz* | коммит*,закоммит* | 提交 | コミット | 커밋 | commit* | commit*
deploy | ausroll*,deploy*,ausliefer*,einspielen | déploi*,déploy*,livr*,livraison | despl*,desplieg* | implant*,deploy*,publica | distribu*,deploy*,rilasci* | uitrol*,deploy* | wdraż*,wdróż*,wdroż* | деплой*,разверт*,выкат* | 部署,上线 | デプロイ,配備 | 배포 | dağıt*,deploy* | driftsätt*,deploy*
approve | genehmig*,freigeb*,freigegeben*,freigabe*,zugestimmt*,zustimm*,einverstand* | approuv*,valid*,accord*,consent* | aprob*,aprueb*,autoriz*,acept*,consent* | aprov*,autoriz*,aceit*,concord* | approv*,autorizz*,consens*,accett* | goedgekeurd,goedkeur*,toestemming,akkoord | zatwierdz*,zgodz*,zgod*,zaakcept*,aprobat* | одобр*,согласил*,согласов*,соглас*,утвержд*,утверд* | 批准,同意,授权,审批 | 承認,同意,許可 | 승인,동의,허가 | onay*,izin* | godkän*,samtyck*
allow | erlaub*,gestatt*,zulassen,zulässig | permet*,permis*,autoris* | permit*,permis*,deja* | permit*,permiss*,deix* | permess*,permett*,consent* | toegestaan,toestaan,sta | pozwal*,pozwol*,dozwol*,wolno | разреш*,позвол* | 允许,许可 | 許可,許し | 허용 | izin,izni | tillåt*,lov
confirm | bestätig*,rückfrag*,nachfrag* | confirm* | confirm* | confirm* | conferm* | bevestig* | potwierdz* | подтвер* | 确认 | 確認 | 확인 | doğrula*,teyit | bekräft*
ask | frag*,rückfrag*,nachfrag* | demand* | pregunt*,pide,pedir,consult* | pergunt*,peç*,pedir | chied*,chiest* | vraag*,vragen | pyta*,zapyta*,proś,pytaj* | спрашив*,спрос*,запраш* | 询问,问,请示 | 尋ね,聞い,質問 | 묻,질문 | sor,sorma*,soru* | fråg*
tell | sag*,erzähl*,verrat*,verrät,mitteil* | dis,dire,dites,racont* | di,dig*,decir,cuent*,dile,avis* | diga*,dizer,cont*,avis* | dire,dici,dica,dillo,raccont*,comunic* | vertel*,zeg,zeggen,meld* | mów*,powiedz*,mówić | говор*,скажи*,сообщ*,расскаж* | 告诉,告知,说,通知 | 伝え,言わ,教え,知らせ | 말하,알리 | söyle*,bildir* | säg*,berätt*
mention | erwähn*,nenn*,auftauch* | mentionn*,signal*,indiqu*,parl* | mencion*,coment*,habl* | mencion*,coment*,fal* | menzion*,nomin*,riport*,parl* | noem*,vermeld* | wspomin*,wspomn* | упомин*,упомян* | 提及,提到,提 | 言及,触れ,話が出 | 언급 | bahset*,söz | nämn*
show | zeig*,anzeig* | montr*,affich* | muestr*,mostr* | mostr*,exib* | mostr* | toon*,laat | pokaż*,pokazuj* | показ*,покаж* | 显示,展示 | 見せ,表示 | 보여,표시 | göster* | visa*
hide | verschweig*,versteck*,verberg*,verheimlich* | cache*,cacher,dissimul* | ocult*,escond* | escond*,ocult* | nascond* | verberg*,verzwijg* | ukry* | скры*,скрой | 隐藏,隐瞒 | 隠し,伏せ | 숨기 | gizle* | dölj*,göm*
report | meld*,bericht* | rapport*,signal* | report*,inform* | relat*,report*,inform* | segnal*,report* | rapport* | zgłoś*,zgłasz*,raport* | доклад*,отчёт*,отчет* | 报告,汇报 | 報告 | 보고 | rapor*,bildir* | rapporter*
answer | antwort*,beantwort* | répon* | respond*,contest* | respond* | rispond* | antwoord*,beantwoord* | odpowi* | отвеч*,ответ* | 回答,回复 | 答え,回答,返答 | 답변,대답 | yanıt*,cevap* | svara*
trust | vertrau* | fais,confiance,fie | confía*,confi* | confi* | fidati,fid* | vertrouw* | ufaj*,zaufa* | доверя*,довер* | 相信,信任,信 | 信じ,信頼 | 믿,신뢰 | güven* | lita*
save | speicher*,gespeichert*,merk*,aufbewahr*,ablegen,lege | enregistr*,conserv*,stock*,gard* | guard*,almacen* | guard*,salv*,armazen* | salv*,conserv*,memorizz* | bewaar*,opslaan,sla,opgeslagen | zapisz*,zapisa*,przechow* | сохран*,храни*,запомн* | 保存,存储,记录,存 | 保存,保管,覚え,記録 | 저장,보관 | kaydet*,sakla* | spara*,lagra*
follow | befolg*,folg*,halte,gehorch* | suiv*,suis,obé* | sigu*,haz,obedec* | sig*,obede* | segu*,obbed* | volg* | przestrzeg*,stosuj*,słuchaj | следу*,соблюд*,выполня* | 遵守,遵循,以这条为准,为准 | 従っ,従う,守っ | 따르 | uy,uyun* | följ*
check | prüf*,geprüft*,prüfung*,überprüf*,kontroll*,verifizier* | vérif*,contrôl* | verific*,comprob*,comprueb*,revis*,control* | verific*,chec*,confer*,control* | verific*,controll* | controle*,controleer*,verific*,check* | sprawdz*,weryfik*,kontrol* | провер*,верифик*,контрол* | 检查,校验,验证,核对 | 検証,チェック,検査,確かめ | 검사,검증,점검 | kontrol*,doğrulama* | kontroll*,verifier*
change | änder*,geändert* | chang*,modif* | cambi*,modific* | mud*,alter*,mudanç* | cambi*,modific* | wijzig*,verander* | zmian*,zmień*,zmieni* | измен*,поменя* | 修改,更改,变更,改动 | 変更,修正 | 변경,수정 | değişiklik* | ändr*
create | erstell*,anleg*,erzeug*,lege | cré* | cre* | cri* | cre* | maak*,aanmak* | utwórz*,tworz* | созда* | 创建,新建 | 作成 | 만들,생성 | oluştur* | skapa*
give | gib,geben,gibt,erteil*,herausgeb* | donn*,accord*,remet* | da,dar,dé,entreg*,conced* | dê,dar,dá,entreg*,conced* | da,dare,dai,conced*,dato | geef*,geven,verleen* | daj*,dać,nadaj*,przyzna* | дай*,дать,предостав* | 给,授予,提供 | 与え,付与,渡 | 주,부여 | ver,verin | ge,ger
grant access | zugriff* | accès | acceso | acesso | accesso | toegang* | dostęp* | доступ* | 访问权限,权限 | アクセス権,権限 | 권한,접근 | erişim* | åtkomst*
need | brauch*,benötig*,nötig,notwendig | besoin,nécessaire,faut | necesit*,hace,falta | precis*,necess* | bisogn*,serve,necessar* | nodig,hoeft,hoef | potrzeb* | нужн*,необходим*,требуе* | 需要,必要 | 必要,要り | 필요 | gerek* | behöv*
mark | markier* | marqu* | marc* | marc* | segn*,marc* | markeer* | oznacz* | помет*,отмет* | 标记 | 印,マーク | 표시 | işaretle* | marker*
decide | entscheid*,entschied* | décid* | decid*,decis* | decid*,decis* | decid*,decis* | beslis*,besluit* | decyd*,decyz*,zdecyd* | реш* | 决定 | 決め,決定 | 결정 | karar* | beslut*,bestäm*
restart | neustart* | redémarr* | reinici* | reinici* | riavvi* | herstart* | restart*,uruchom | перезапус* | 重启 | 再起動 | 재시작 | yeniden | starta,om
user | nutzer*,benutzer*,anwender* | utilisateur* | usuari* | usuári*,utilizador* | utent* | gebruiker* | użytkowni* | пользовател* | 用户,使用者 | ユーザー,利用者 | 사용자 | kullanıcı* | användar*
owner | besitzer*,eigentümer*,inhaber* | propriétaire* | dueñ*,propietari* | dono*,propriet* | proprietari* | eigenaar* | właścicie* | владел* | 所有者,负责人,主人 | 所有者,オーナー,責任者 | 소유자 | sahib* | ägare*
administrator | administrator*,admin* | administrat* | administrador* | administrador* | amministrat* | beheerder* | administrator* | администратор* | 管理员 | 管理者 | 관리자 | yönetici* | administratör*
reviewer | prüfer*,gutachter* | relect*,réviseur* | revisor* | revisor* | revisor* | reviewer*,beoordelaar* | recenzent* | ревьюер*,рецензент* | 审查者,审核人 | レビュアー | 검토자 | inceleyen* | granskar*
review | durchsicht,review* | relecture*,revue* | revisi* | revis* | revision* | beoordel*,review* | przegląd*,recenzj* | ревью,рецензи* | 审查,审核,评审 | レビュー,査読 | 검토,리뷰 | inceleme* | gransk*
team | team*,mannschaft | équipe* | equipo* | equipe*,time | squadra,gruppo,team | team* | zespół*,zespoł* | команд* | 团队,小组 | チーム | 팀 | ekip*,takım* | team*,lag*
customer | kund* | client* | client* | cliente* | client* | klant* | klient* | клиент*,заказчик* | 客户 | 顧客,お客 | 고객 | müşteri* | kund*
manager | leiter*,leitung,chef*,geschäftsführung,vorgesetzt* | responsable*,direction,chef* | responsable*,jefe*,dirección | gerente*,chefe*,responsáve* | responsabil*,capo,direzione | leiding,manager*,chef | kierowni*,szef* | начальн*,руковод* | 经理,领导 | 上司,責任者 | 책임자,관리 | müdür* | chef*
security | sicherheit* | sécurité | segurid* | seguranç* | sicurezz* | beveilig*,veilig* | bezpiecz* | безопасн* | 安全 | セキュリティ,安全 | 보안 | güvenlik* | säkerhet*
certificate | zertifikat* | certificat* | certificad* | certificad* | certificat* | certificat* | certyfikat* | сертификат* | 证书 | 証明書 | 인증서 | sertifika* | certifikat*
signature | signatur*,unterschrift* | signature* | firma,firmas | assinatur* | firma,firme | handtekening* | podpis* | подпис* | 签名 | 署名 | 서명 | imza* | signatur*
password | passw*,kennw* | passe,mots,mdp | contraseñ* | senha*,palavra-passe | password,passwd | wachtwo* | hasł*,haseł | парол* | 密码,口令 | パスワード | 비밀번호,암호 | parola*,şifre* | lösenord*
key | schlüssel* | clé,clés,clef* | clave* | chave* | chiav* | sleutel* | klucz* | ключ* | 密钥,私钥 | 鍵,キー | 키 | anahtar* | nyck*
token | token*,zugangstoken | jeton* | token* | token* | token | token* | token* | токен* | 令牌 | トークン | 토큰 | token* | token*
secret | geheim* | secret* | secret* | segred*,secret* | segret* | geheim* | sekret*,tajn* | секрет* | 秘密,机密 | 秘密,機密 | 비밀 | gizli* | hemlig*
credentials | zugangsdaten,anmeldedaten | identifiant* | credencial* | credencia* | credenzial* | inloggegevens | poświadcz*,dane | учётн*,учетн* | 凭据,凭证 | 認証情報,資格情報 | 자격증명 | kimlik* | inloggningsuppgift*
environment variables | umgebungsvariable* | variables | variables,entorno | variáve* | variabil* | omgevingsvariabel* | zmienn* | переменн* | 环境变量 | 環境変数 | 환경변수,환경 변수 | ortam | miljövariab*
file | datei* | fichier* | archiv*,fichero* | arquiv*,ficheiro* | file | bestand* | plik* | файл* | 文件 | ファイル | 파일 | dosya* | fil,filen,filer
folder | ordner*,verzeichnis* | dossier*,répertoire* | carpet*,directori* | past*,diretóri* | cartell* | map,mappen | katalog*,folder* | папк*,каталог* | 目录,文件夹 | フォルダ,ディレクトリ | 폴더 | klasör* | mapp*
data | daten* | donnée* | dato,datos | dado,dados | dato,dati | gegevens,data | dane,danych | данны*,данных | 数据 | データ | 데이터 | veri* | data,uppgift*
database | datenbank* | base,bases | base | banco | banca | databas* | baz* | баз* | 数据库 | データベース | 데이터베이스 | veritaban* | databas*
server | server* | serveur* | servidor* | servidor* | server | server* | serwer* | сервер* | 服务器 | サーバー,サーバ | 서버 | sunucu* | server*
production | produktion*,produktiv* | production,prod | producción | produção | produzione | productie* | produkc* | продакшен*,прод,боев* | 生产,线上 | 本番 | 운영,프로덕션 | üretim,canlı | produktion*
test | test*,prüfstand | test*,essai* | prueb*,test* | test*,teste* | test* | test* | test* | тест* | 测试 | テスト | 테스트 | test* | test*
branch | zweig*,branch* | branche* | rama* | ramo*,branch | ramo,branch | tak,branch* | gałę* | ветк* | 分支 | ブランチ | 브랜치 | dal,dalına,dalı | gren*
release | release*,freigab*,veröffentlichung* | livraison*,sortie*,version* | versión,lanzamiento*,entrega | versão,lançament* | rilasci*,versione | release*,uitgave | wydan*,wersj* | релиз*,верси* | 发布,版本 | リリース | 릴리스,릴리즈 | sürüm* | release*,utgåv*
code | code*,quelltext* | code* | código* | código* | codice | code* | kod,kodu | код,кода,коде | 代码 | コード | 코드 | kod* | kod*
notes | notiz*,eintrag*,einträg*,vermerk* | note*,notes | nota,notas,apunt* | nota,notas | nota,note,appunt* | notitie*,aantekening* | notat*,zapis* | заметк*,запис* | 笔记,记录,条目,备注 | メモ,記録 | 메모,기록 | not,notlar* | anteckning*,notering*
memory | gedächtnis*,erinnerung* | mémoire*,souvenir* | memori*,recuerd* | memóri*,lembranç* | memori*,ricord* | geheugen,herinner* | pamię* | памят*,воспомин* | 记忆 | 記憶 | 기억 | hafıza*,bellek | minne*
rule | regel*,vorgab*,vorschrift* | règle*,consigne* | regla*,norma* | regra* | regol* | regel* | reguł*,zasad* | правил* | 规则,规定 | ルール,規則 | 규칙 | kural* | regel*,regler
instructions | anweisung*,anleitung*,weisung* | instruction*,consigne* | instruccion*,indicacion* | instruç* | istruzion* | instructie*,aanwijz* | instrukc*,polec* | инструкц*,указан* | 指示,指令,说明 | 指示,命令 | 지시,지침 | talimat* | instruktion*
summary | zusammenfass*,bericht* | résumé*,compte,rendu,récapitul* | resumen*,informe* | resumo*,relatóri* | riepilog*,riassunt*,rapporto | samenvat*,verslag* | podsumow*,opis* | отчёт*,сводк*,описани* | 总结,摘要,报告 | 要約,報告書,まとめ | 요약,내역 | özet* | sammanfatt*
message | nachricht*,meldung*,fehlermeldung* | message* | mensaj* | mensage* | messagg* | bericht* | wiadomoś*,komunikat* | сообщени* | 消息,信息 | メッセージ | 메시지 | mesaj* | meddeland*
error | fehler* | erreur* | error* | erro,erros | errore*,errori | fout* | błąd*,błęd* | ошибк* | 错误,报错 | エラー,不具合 | 오류,에러 | hata* | fel
package | paket* | paquet* | paquet* | pacote* | pacchett* | pakket* | pakiet* | пакет* | 包 ,软件包,包 | パッケージ | 패키지 | paket* | paket*
dependency | abhängigkeit* | dépendanc* | dependenc* | dependênc* | dipendenz* | afhankelijk* | zależnoś* | зависимост* | 依赖 | 依存関係,依存 | 의존성 | bağımlılık* | beroend*
registry | registry,paketquelle,quelle | registre*,dépôt*,source* | registro*,origen | registro*,fonte* | registro,registry,fonte | registry,bron | rejestr*,źródł* | реестр*,источник*,зеркал* | 镜像,源 | レジストリ,ミラー | 레지스트리 | kayıt,depo* | register
script | skript* | script* | script*,guion | script* | script | script* | skrypt* | скрипт* | 脚本 | スクリプト | 스크립트 | betik*,script* | skript*
command | befehl*,kommando* | commande* | comando*,orden* | comando* | comand* | opdracht*,commando* | polecen*,komend* | команд* | 命令 | コマンド | 명령 | komut* | kommando*
address | adress* | adresse* | direcci* | endereç* | indirizz* | adres* | adres* | адрес* | 地址 | アドレス,宛先 | 주소 | adres* | adress*
network | netz* | réseau* | red | rede | rete | netwerk* | sieć*,sieci* | сет* | 网络 | ネットワーク | 네트워크 | ağ | nätverk*
firewall | firewall* | pare-feu,pare | cortafuegos,firewall | firewall | firewall | firewall | zapor*,firewall | фаервол*,брандмауэр* | 防火墙 | ファイアウォール | 방화벽 | güvenlik duvar* | brandvägg*
encryption | verschlüssel* | chiffr* | cifra*,encript* | criptograf* | cifrat*,crittogra* | versleutel* | szyfr* | шифр* | 加密 | 暗号 | 암호화 | şifrele* | krypter*
authentication | authentifizier*,anmeld* | authentifi*,connexion | autentic*,autentif* | autentic* | autentic* | authenticat*,inlog* | uwierzyteln*,logow* | аутентифик*,авториз*,вход* | 认证,身份验证,登录 | 認証,ログイン | 인증,로그인 | kimlik doğrula*,giriş* | autentiser*,inlogg*
permission | berechtigung*,rechte,erlaubnis | permission*,droit*,autorisation* | permiso*,derecho* | permiss*,direit* | permess*,diritt* | recht*,bevoegd* | uprawnie*,pozwole* | права,прав,разрешени* | 权限 | 権限,許可 | 권한 | yetki*,izin | behörighet*,rättighet*
backup | sicherung*,backup* | sauvegard* | copia*,respaldo* | cópia*,backup* | backup,copi* | back-up*,backup* | kopi*,zapasow* | резервн*,бэкап* | 备份 | バックアップ | 백업 | yedek* | säkerhetskop*
log | protokoll*,log,logs | journal*,logs | registro*,logs | log,logs,registro* | log,registr* | logboek*,log*  | log,logi,dziennik* | лог,логи,логах,журнал* | 日志 | ログ | 로그 | günlük*,log* | logg*
protection | schutz*,geschützt | protect* | protec*,proteg* | proteç* | protez* | bescherm* | ochron* | защит* | 保护 | 保護 | 보호 | koruma* | skydd*
warning | warnung* | avertiss*,alerte* | advertenc*,aviso*,alert* | aviso*,alert* | avvis*,allert* | waarschuw* | ostrzeż* | предупрежд* | 警告 | 警告 | 경고 | uyarı* | varning*
project | projekt* | projet* | proyecto* | projeto* | progett* | project* | projek* | проект* | 项目 | プロジェクト | 프로젝트 | proje* | projekt*
repository | repo,repository,repos,ablage | dépôt* | repositori* | repositóri* | repository,repo | repositor* | repozytor* | репозитор* | 仓库 | リポジトリ | 저장소 | depo* | repo*
assistant | assistent*,agent* | assistant*,agent* | asistent*,agente* | assistent*,agente* | assistent*,agent* | assistent*,agent* | asystent*,agent* | ассистент*,помощник*,агент* | 助手,代理 | アシスタント,エージェント | 어시스턴트,에이전트 | asistan* | assistent*
old earlier | früher*,alt,alte,alten,bisherig*,vorherig* | ancien*,précédent*,antérieur*,auparavant | anterior*,antigu*,previ* | anterior*,antig*,prévi* | precedent*,vecchi*,prima | eerder*,oude,vorige | wcześniejsz*,poprzedni*,star* | старые,старых,прежн*,ранн*,ранее,предыдущ* | 以前,之前的,旧,过去 | 以前,古い,過去 | 이전,예전,기존 | önceki,eski* | tidigare,gamla
invalid | ungültig*,hinfällig*,überholt*,veraltet*,aufgehoben*,gegenstandslos* | caduc*,invalid*,obsol*,annul*,périmé* | inválid*,anulad*,obsolet*,caduc*,fals* | inválid*,anulad*,obsolet*,revogad* | nullo,nulle,annullat*,obsolet*,superat* | ongeldig,verouderd,vervallen | nieważn*,nieaktual*,anulow*,unieważn* | недействит*,устарел*,отмен* | 作废,无效,失效,过时 | 無効,古く,取り消し | 무효,폐기 | geçersiz*,eskimiş | ogiltig*,inaktuell*,utgång*
wrong | falsch*,fehlerhaft* | faux,fausse*,erroné* | incorrect*,fals*,equivoc* | errad*,fals* | sbagliat*,fals* | fout,verkeerd,onjuist | błędn*,fałszyw* | неправ*,ложн*,неверн* | 错误,假 | 間違,誤り | 잘못,거짓 | yanlış | fel,felaktig*
valid counts | gültig*,maßgeblich*,gilt | valable*,compte,vaut | válid*,vale,valen,cuenta | válid*,vale,valem,conta | vale,valgono,valid*,conta | geldt,geldig,telt | obowiązuj*,ważn*,liczy | действу*,действительн*,важн* | 有效 | 有効 | 유효 | geçerli* | gäller,gilt*
new | neu,neue,neuen,neuer,neues | nouveau*,nouvel* | nuev* | nov* | nuov* | nieuw* | now* | нов* | 新的,新 | 新しい,新 | 새로운,새 | yeni* | ny,nya,nytt
unnecessary | überflüssig*,unnötig*,entfällt,stört,störend | inutile*,superflu* | innecesari*,sobra,inútil* | desnecessári*,inútil*,sobra | inutil*,superflu* | overbodig,onnodig | zbędn*,niepotrzebn* | лишн*,ненужн* | 多余,不需要,没必要 | 不要,必要はありません,必要ない | 불필요,필요 없 | gereksiz* | onödig*,överflödig*
secretly | heimlich*,unbemerkt*,still,stillschweigend | discrètement,secret,silence,douce | secreto,silencio,discret* | escondid*,silênci*,discret* | nascosto,silenzi*,segreto | stilletjes,stiekem,heimelijk | cicho,potajem*,niezauważ* | тайно,незаметно,тихо,втайне | 悄悄,偷偷,暗中,秘密 | こっそり,密かに,黙って | 몰래,조용히 | gizlice,sessizce | tyst,hemligt,smyg
directly | direkt*,unmittelbar,sofort | directement,immédiatement | directamente,inmediat* | diretamente,imediat* | direttamente,subito,immediat* | direct,meteen,onmiddellijk | bezpośrednio,natychmiast,od,razu | сразу,прямо,напрямую,немедленно | 直接,立即,立刻 | 直接,すぐ | 직접,바로,즉시 | doğrudan,hemen | direkt,omedelbart
permanently | dauerhaft*,grundsätzlich | permanent*,définitiv*,systématiq* | permanente*,definitiv*,sistemátic* | permanente*,definitiv* | permanent*,definitiv*,sempre | permanent,blijvend | stał*,trwale | навсегда,постоянн* | 永久,永远 | 永続,恒久,ずっと | 영구,계속 | kalıcı* | permanent*
in advance | vorab,voraus,vornherein | avance,préalable | antemano,previamente | antemão,previamente | anticipo,preventiv* | tevoren,vooraf | góry,wcześniej | заранее | 事先,提前,预先 | 事前に,事前,あらかじめ | 미리,사전 | önceden,peşinen | förväg,förhand
alone | selbst,allein,eigenständig | seul,même | mismo,solo | próprio,sozinh* | stesso,solo | zelf | sam,samodzielnie | сам,самостоятельно | 自己,自行 | 自分で,独断 | 스스로 | kendin,kendi | själv
responsible | verantwortlich*,zuständig* | responsable | responsable* | responsáve* | responsabil* | verantwoordelijk | odpowiedzialn* | ответственн* | 负责 | 担当,責任 | 담당 | sorumlu* | ansvarig*
act as | bist,agier*,handle,verhalt* | es,agis*,comport* | eres,actúa*,compórt* | é,aja,atue | sei,agisci,comportati | bent,gedraag | jesteś,działaj,zachowuj | являешься,действуй,веди | 作为,扮演 | として,振る舞 | 로서,행동 | davran* | är,agera
public | öffentlich* | public,publique* | públic* | públic* | pubblic* | openbaar,openbare,publiek* | publiczn* | публичн*,общедоступн* | 公开,公共 | 公開,パブリック | 공개 | herkese,açık | offentlig*,publik*
local | lokal*,entwicklungsumgebung | local*,locale* | local*,entorno | local,ambiente | local*,ambiente | lokaal,lokale | lokaln* | локальн* | 本地 | ローカル | 로컬 | yerel* | lokal*
price | preis* | prix | preci* | preç* | prezz* | prijs*,prijzen | cen,ceny,cena | цен* | 价格 | 価格 | 가격 | fiyat* | pris*
documentation | dokumentation*,doku,unterlagen | documentation* | documentaci* | documentaç* | documentazion* | documentatie* | dokumentac* | документац* | 文档 | ドキュメント,文書 | 문서 | dokümantasyon,belge* | dokumentation*
money | geld*,betrag*,zahlung*,rechnung*,ausgab* | argent,dépense*,factur*,paiement* | dinero,gasto*,factur*,pago* | dinheiro,gasto*,fatura*,pagament* | denaro,spes*,fattur*,pagament* | geld,factuur,betaling* | pieniąd*,faktur*,płatnoś* | деньг*,счёт*,счет*,оплат* | 费用,付款,支付,发票 | 費用,支払,請求 | 비용,결제 | para,ödeme*,fatura* | pengar,faktur*,betal*
week | woche*,montag*,freitag*,tag,tage,nacht* | semaine*,lundi,vendredi,jour*,nuit | semana*,lunes,viernes,día*,noche | semana*,segunda,sexta,dia*,noite | settiman*,lunedì,venerdì,giorn*,notte | week*,maandag,vrijdag,dag*,nacht | tydzie*,poniedział*,piąt*,dni,noc | недел*,понедельник*,пятниц*,день,дня,ночь* | 周,星期,天,每晚 | 週,曜日,日,夜 | 주,요일,일,밤 | hafta*,gün*,gece* | vecka*,måndag*,fredag*,dag*,natt*
"""


class _Lexicon:
    """The words of one language: whole words, stems that words begin with, and which of them are small words."""

    def __init__(self, column: int) -> None:
        self.words: dict[str, str] = {}
        self.stems: dict[str, str] = {}
        self.small: set[str] = set()
        is_small = True
        for row in _TABLE.strip().splitlines():
            english, *cells = (cell.strip() for cell in row.split("|"))
            is_small = is_small and english != _FIRST_CONTENT
            for word in filter(None, map(str.strip, cells[column].split(","))):
                into = self.stems if word.endswith("*") else self.words
                into.setdefault(word.rstrip("*"), english)
                if is_small:
                    self.small.add(word)

    def gloss(self, word: str, *, joins: bool) -> str | None:
        """Return the English of a word, or of the parts that it is joined from."""
        if word in self.words:
            return self.words[word]
        for end in range(len(word), _SHORTEST_STEM - 1, -1):
            if (found := self.stems.get(word[:end])) is None:
                continue
            rest = word[end:].removeprefix("s") if joins else ""
            second = self.gloss(rest, joins=False) if len(rest) >= _SHORTEST_REST else None
            return f"{found} {second}" if second else found
        return None


@cache
def _lexicon(language: str) -> _Lexicon:
    return _Lexicon(LANGUAGES.index(language))


def in_english(statement: str) -> str:
    """Return a gloss of a statement that is not in English; an English one as it is."""
    seen = unicodedata.normalize("NFKC", statement).lower() if not statement.isascii() else statement.lower()
    if not seen.isascii():
        for language, script in _BY_SCRIPT:
            if len(script.findall(seen)) * 3 >= sum(map(str.isalpha, seen)):
                return _by_chunks(seen, language) if language in _WITHOUT_SPACES else _by_words(seen, language)
    latin = _latin_language(seen)
    return _by_words(seen, latin) if latin else statement


def _latin_language(seen: str) -> str | None:
    """Return the language whose words a statement has most of, if it has more of them than of English ones."""
    words = _WORD.findall(seen)
    in_english_words = sum(word in _ENGLISH for word in words)
    if in_english_words * 4 >= len(words) and seen.isascii():
        return None  # spares the look into nine tables for most of what is written
    best: str | None = None
    most = max(in_english_words * (2 if seen.isascii() else 1), 1)
    for language in LANGUAGES:
        if any(language == known for known, _ in _BY_SCRIPT):
            continue
        lexicon = _lexicon(language)
        if not any(word in lexicon.small and word not in _SHARED for word in words):
            continue
        glossed = [(word, lexicon.gloss(word, joins=False)) for word in words if word not in _SHARED]
        known = sum(english is not None and english != word for word, english in glossed)
        if known > most and known >= _LEAST_SHARE * len(words):
            best, most = language, known
    return best


def _by_words(seen: str, language: str) -> str:
    lexicon, joins = _lexicon(language), language in _JOINS_WORDS
    return _WORD.sub(lambda word: lexicon.gloss(word[0], joins=joins) or word[0], seen)


def _by_chunks(seen: str, language: str) -> str:
    """Gloss a script without spaces: always the longest run of letters that the table has; others are dropped."""
    words = _lexicon(language).words
    parts: list[str] = []
    at = 0
    while at < len(seen):
        run = _CHUNK.match(seen, at)
        if run is not None and run[0].isascii():
            parts.append(run[0].strip())
            at = run.end()
            continue
        for length in range(_LONGEST_CHUNK, 0, -1):
            if (english := words.get(seen[at : at + length])) is not None:
                parts.append(english)
                at += length
                break
        else:
            at += 1
    return " ".join(filter(None, parts))
