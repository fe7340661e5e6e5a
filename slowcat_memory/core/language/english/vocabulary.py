"""English words for rules that there are for English alone: follow-ups, misheard names, speakers.

Among the everyday words the short ones count most: the shorter a word, the more names sound like
it.
"""

QUESTION_WORDS = "who|whom|whose|what|which|where|when|why|how"
AUXILIARIES = (
    "do|does|did|is|are|was|were|has|have|had|can|could|will|would|shall|should|may|might|must"
)
# Words that the index leaves out.
STOP_WORDS = frozenset(
    """a about am an and any are as at be been but by can could did do does doing don for from had
    has have having he her hers him his how i if in into is it its just me my no nor not of on or
    our ours out over own she should so some such than that the their them then there these they
    this those to too up us very was we were what when where which who whom whose why will with
    would you your yours s t re ve ll d m""".split()
)
PRONOUNS = frozenset(
    """he him his she her hers they them their theirs it its that this those these there then one
        ones
    himself herself themselves""".split()
)
# Words that say nothing of what is asked for.
EMPTY = STOP_WORDS | frozenset(
    """said say says tell told think thought know knew happen happened happens mean meant go went
        get
    got like also again more really still ever yes yeah yep no nope ok okay sure right well oh ah
    hm hmm um uh
    please thanks thank hi hello hey now next thing things something anything else too let lets us
    remind remember recall explain continue sorry again good great cool nice exactly much many way
    maybe actually course wait want make made give gave take took come came see saw look did else
    never always only one ones first last""".split()
)
# Names that are words as well: taken for names only where they are written as one.
COMMON_NAMES = frozenset(
    """angel april art ash august autumn bill bob brook buck carol chance chase chip clay cliff
        daisy
    dale dash dawn dean destiny don drew earl eve faith fern flora forest frank gale gene ginger
    glen grace grant guy harmony harry hazel heath holly honor hope iris ivy jack jade jasmine jay
    jean jerry jewel joy june junior king lance lane lily mark marina mason may melody merry miles
    misty nick norm olive page pat patience pearl penny pepper peter poppy precious queen ray red
    reed rich rob robin rock rose ruby rusty sandy savannah serenity shelly sky skip stone stormy
    sue summer sunny ted terry tiffany tony trinity victor violet wade ward will willow winter wolf
    woody""".split()
)
ROLES = frozenset("user assistant agent bot system speaker human ai you me".split())
# Words that announce a name: "my sister …", "called …", "name is …".
POSSESSIVES = frozenset("my your his her our their".split())
KIN = frozenset(
    """sister brother mother father mom mum dad son daughter wife husband partner girlfriend
        boyfriend friend
    cousin aunt uncle niece nephew grandma grandpa grandmother grandfather boss colleague coworker
    neighbor neighbour teacher doctor dentist therapist dog cat puppy kitten horse parrot hamster
    baby kid boy girl roommate flatmate fiance fiancee colleague manager coach""".split()
)
NAMING = frozenset("called named nicknamed".split())
COPULAS = frozenset("is was are were".split())
CALENDAR = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may
        june
    july august september october november december christmas easter english""".split()
)
# Words that are never taken for a misheard name.
_EVERYDAY = frozenset(
    """able above accept accident account across act action active actual add address adult advice
    afford afraid after afternoon against age ago agree ahead aim air airport alarm album alive
    all allow
    almost alone along already although amazing amount ancient anger angle angry animal ankle
    announce annoy answer anxious apart appear apple apply area argue arm army around arrange arrive
    arrow article artist aside ask asleep attack attend aunt autumn average avoid awake award aware
    away awful baby back bad bag bake balance ball band bank bar bare bark barn base basic basket
    bath battle bay beach bean bear beat beauty become bed bee beef beer before begin behave behind
    belief believe bell belong below belt bench bend benefit beside best better between beyond
    bicycle big bike bird birth birthday bit bite bitter black blame blanket blind block blood blow
    blue board boat body boil bone book boot border bore borrow boss bottle bottom bowl box boy
    brain branch brave bread break breakfast breath bridge bright bring broad broke brother brown
    brush build bunch burn bus bush business busy butter button buy cable cage cake call calm camera
    camp cancel candle candy cap capital car card care career careful carpet carry cart case cash
    castle
    cat catch cause ceiling center central century certain chain chair change character charge cheap
    check cheese chemist chest chicken chief child children choice choose church circle city claim
    class clean clear clever clever climb clock close cloth clothes cloud club coach coast coat code
    coffee coin cold collar collect college color colour comb combine comfort common company compare
    compete complain complete computer concern concert condition confirm connect consider contact
    contain
    content continue control cook cookie cool copy corn corner correct cost cotton cough count
    country
    couple courage court cousin cover cow crash crazy cream create credit crime cross crowd cry cup
    cure curl curtain custom customer cut cycle dad daily dairy damage dance danger dare dark data
    date daughter day dead deaf deal dear death debt decade decide deep deer degree delay deliver
    demand den deny depend describe desert design desk detail develop device diary die diet differ
    difficult dig dinner direct dirt dirty discover discuss dish distance divide doctor dog doll
    dollar
    door double doubt down dozen draft drag drama draw drawer dream dress drink drive drop drug dry
    duck due dull during dust duty each ear early earn earth ease easily east easy eat edge educate
    effect effort egg eight either electric elephant eleven email employ empty end enemy energy
    engine enjoy enough enter entire equal error escape especially estate evening event exact exam
    example excellent except exchange excite exercise exist expect expensive experience expert
    explain
    express extra eye face fact fail fair fall false family famous fan fancy far farm farmer
    fashion fast
    fat father fault favor favorite favourite fear feature feed feel female fence fetch fever few
    field
    fifty fight figure file fill film final find fine finger finish fire firm fish fit five fix
    flag flame flat
    flavor flight floor flour flow flower fly focus fold folk follow food foot football force
    foreign
    forest forget forgive fork form former forty forward found four frame free freeze fresh friday
    friend fruit full fun funny fur furniture further future gain game garage garden gas gate gather
    general gentle gift girl glad glass glove glue goal goat god gold golf grade grain gram grand
    grandma
    grandpa grass gray green greet grey grip group grow guard guess guest guide guitar gun gym habit
    hair half hall hammer hand handle hang hard hardly harm hat hate head heal health hear heart
    heat
    heavy heel height help hen hero hide high hike hill hire history hit hobby hold hole holiday
    home honest hook horse hospital hot hotel hour house household however huge hundred hungry hunt
    hurry hurt husband ice idea ignore ill image imagine improve inch include income increase
    indeed inform
    inner inside instead insurance interest internet interview invite iron island issue item jacket
    jam jar jaw jealous job join joke journey judge juice jump just keen keep key kick kid kidney
    kill
    kilometer kind kiss kitchen kite knee knife knit knock knot lab lack ladder lady lake lamp land
    language laptop large late laugh law lawyer lay layer lazy lead leaf league lean learn least
    leather
    leave left leg legal lemon lend length less lesson letter level library lie life lift light
    limit
    line link lion lip liquid list listen little live lively load loan lock log lonely long loose
    lose
    loss lost loud love lovely low luck lunch machine mad magazine magic mail main major male
    mall mama
    man manage manager map marathon march market marriage marry mass master match material math
    matter meal
    meat media medical medicine meet meeting member memory men mend mention menu mess message
    metal meter method
    middle might mile milk mill million mind mine minute mirror miss mistake mix model modern mom
    moment
    monday money monitor monkey month mood moon morning most mother motor mountain mouse mouth move
    movie mum muscle museum music must myself nail name narrow nation nature near nearly neat
    neck need needle neighbor nephew nerve nervous nest net network news nice niece night nine
    noise none noon
    north nose note nothing notice november novel number nurse nut object ocean october odd offer
    office
    officer often oil old online open operate opinion orange orchestra order organ other ought
    outside oven
    owe owl owner pack page pain paint pair pale pan panic pants papa paper parcel pardon parent
    park part
    partner party pass past paste path patient pattern pause pay peace pear pen pencil people
    perfect perform
    perhaps period person pet phone photo piano pick picnic picture pie piece pig pile pill
    pillow pilot pin
    pink pipe pizza place plan plane plant plastic plate play player pleasant please plenty plus
    pocket
    poem poet point poison police polite pond pool poor popular port position possible post pot
    potato pound
    pour power practice praise pray prefer prepare present president press pretty prevent price
    pride
    print prison private prize probable problem process produce program progress project promise
    proof
    proper protect proud prove public pull pump punch punish pupil puppy pure purple purpose
    purse push put
    puzzle quality quarter question quick quiet quilt quit quite quiz rabbit race radio rail rain
    raise range
    rapid rare rat rate rather raw reach react read ready real realise realize reason recent recipe
    recommend record reduce refuse regret regular relate relax release rely remain remote remove
    rent repair
    repeat reply report request rescue research respect rest restaurant result retire return
    review rice
    ride ring rise risk river road rob role roll roof room root rope rough round route row royal
    rub rude
    ruin rule run rush sad safe safety sail salad salary sale salt same sand sandwich saturday
    sauce save
    scale scare scene school science scissors score scream screen sea seal search season seat second
    secret secure seed seem seldom select sell send sense sentence september serious serve
    service set
    settle seven several sew shade shadow shake shall shallow shame shape share sharp shed sheep
    sheet shelf
    shell shine ship shirt shock shoe shoot shop shore short shot shoulder shout show shower shut
    shy sick
    side sight sign signal silence silly silver similar simple since sing single sink sister sit
    site six size
    skate ski skill skin skirt sky sleep sleeve slice slide slight slim slip slow small smart
    smell smile
    smoke smooth snack snake snow soap social sock sofa soft soil soldier solid solve song soon
    sore sort soul
    sound soup sour south space spare speak special speech speed spell spend spider spirit spoil
    spoon sport
    spot spread spring square stage stair stamp stand star stare start state station stay steak
    steal
    steam steel steep stem step stick stiff still stir stock stomach stop store storm story stove
    straight
    strange stream street stress stretch strict strike string strong student study stuff stupid
    style subject
    success sudden suffer sugar suggest suit sum sun sunday supper support suppose surface surgery
    surprise surround sweep sweet swim swing switch table tail tale talent talk tall tame tap
    tape task taste tax
    taxi tea teach teacher team tear tease teen telephone television temper temple ten tennis
    tent term test
    text than thank theater theatre theme theory therapist therapy therefore thick thief thin third
    thirst thirty though thousand thread threat three throat through throw thumb thunder thursday
    thus ticket
    tidy tie tight till time tin tiny tip tire title toast today toe together toilet tomato
    tomorrow tone
    tongue tonight tool tooth top topic total touch tough tour toward towel tower town toy track
    trade
    traffic train training transport trap travel treat tree trial tribe trick trip trouble truck
    true trust truth try
    tube tuesday tune turn twelve twenty twice twin two type ugly umbrella uncle under
    understand unhappy uniform union unique unit university unless unlike until upon upset upstairs
    urgent use useful usual vacation valley value van variety various vase vegan vegetable
    vehicle vein very vet
    victory video view village violin visit visitor vitamin voice volleyball volunteer vote wage
    waist wake walk wall wallet
    wander war warm warn wash waste watch water wave wax weak wealth weapon wear weather web wedding
    wednesday week weekend weigh weight weird welcome well west wet whale wheat wheel whether while
    whisper whistle white whole wide wife wild wild win wind window wine wing wire wise wish without
    woman women wonder wood wool word work worker workout world worry worse worst worth wound wrap
    wrist write writer wrong yard yarn year yellow yesterday yet yoga young zero zone zoo
    always another anybody anyone anyway anywhere because everybody everyone everything
    everywhere somebody
    someone sometimes somewhere nobody nowhere today whatever whenever wherever whoever
    ate awoke became began begun bent bitten blew bought bound broken brought built bought caught
    chosen
    chose clung crept dealt done drank drawn drew driven drove drunk eaten fallen fed fell felt
    flew flown forgave
    forgotten forgot fought frozen froze gave given gone gotten grew grown heard held hidden hid
    hung kept knew
    known laid lain led left lent lit lost made meant met paid ran rang ridden risen rode sang
    sank sat sent shaken
    shone shook shown slept slid sold sought spent spoke spoken spread spun stole stolen stood
    struck stuck
    stung sung sunk swam swept swore sworn swum taken taught thought threw thrown told took tore
    torn understood went
    woke woken won wore worn wove woven written wrote lives knives wolves leaves loaves feet
    teeth geese mice""".split()
)

EVERYDAY = _EVERYDAY | EMPTY | PRONOUNS | COMMON_NAMES
# Each line names one quality; a thing has one value of it.
QUALITIES = """
red blue green yellow black white brown pink purple orange grey silver gold
left right
north south east west upper lower inner outer northern southern eastern western
winter summer spring autumn
electric acoustic manual
men women mens womens kids boys girls
dog cat horse bird fish baby
small large medium big little
morning evening night afternoon
old new
front back rear
first last
mini pro max plus lite ultra air
mountain road racing
hot cold
paperback hardcover audio
stand sleeve case bag cup cover charger
one two three four five
"""
# Words that name a part of a thing, or a model of its own.
PARTS = frozenset(
    "mini pro max plus lite ultra stand sleeve case bag cup cover charger energy insurance".split()
)
