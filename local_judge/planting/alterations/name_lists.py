"""Names whose kind is known.

Invariant: a name stands in one list only, and means one kind of thing where it stands in a sentence; ambiguous ones
(Georgia, Jordan, Washington, Florence, Victoria) are left out.
"""

from __future__ import annotations

from local_judge.planting.alterations.tables import words

MALE = words(
    """
    James John Robert Michael William David Richard Joseph Thomas Charles Christopher Daniel Matthew Anthony
    Mark Donald Steven Paul Andrew Joshua Kenneth Kevin Brian George Edward Ronald Timothy Jason Jeffrey Ryan
    Jacob Gary Nicholas Eric Jonathan Stephen Larry Justin Scott Brandon Benjamin Samuel Gregory Frank
    Alexander Raymond Patrick Jack Dennis Jerry Tyler Aaron Henry Douglas Peter Adam Zachary Nathan Walter
    Harold Carl Arthur Albert Lawrence Willie Ralph Roy Eugene Louis Philip Bobby Johnny Bradley Frederick
    Francis Ernest Martin Alan Oscar Hugo Hans Karl Friedrich Wilhelm Johann Heinrich Otto Max Ludwig Franz
    Pierre Jacques Claude François Antoine Marcel Henri Victor Émile Giovanni Giuseppe Antonio Francesco Carlo
    Luigi Marco Pablo Carlos Juan José Luis Miguel Diego Fernando Vladimir Ivan Nikolai Alexei Sergei Mikhail
    Dmitri Leonardo Isaac Alfred Edgar Oliver Geoffrey Simon Neil Ian Colin Graham Leonard Herbert Howard
    Stanley Theodore Abraham Winston Duncan Hugh Gilbert Vincent Leon Bruce Craig Roger Keith Tony Tom Jim Bill
    Bob Mike Steve Ken Ben Sam Joe Dan Ron Tim Fred
    """
)
"""Given names of men."""
FEMALE = words(
    """
    Mary Patricia Jennifer Linda Elizabeth Barbara Susan Jessica Sarah Karen Lisa Nancy Betty Sandra Margaret
    Ashley Kimberly Emily Donna Michelle Carol Amanda Melissa Deborah Stephanie Dorothy Rebecca Sharon Laura
    Cynthia Amy Kathleen Angela Shirley Brenda Emma Anna Pamela Nicole Samantha Katherine Christine Helen Debra
    Rachel Carolyn Janet Maria Catherine Heather Diane Olivia Julie Joyce Ruth Lauren Kelly Christina Joan
    Evelyn Judith Andrea Hannah Megan Cheryl Jacqueline Martha Teresa Gloria Sara Janice Ann Kathryn Abigail
    Sophia Frances Alice Judy Isabella Julia Grace Amber Denise Danielle Marilyn Beverly Charlotte Natalie
    Theresa Diana Brittany Doris Kayla Alexis Lori Marie Simone Agatha Jane Rosa Frida Marlene Ingrid Greta
    Audrey Ella Billie Amelia Eleanor Edith Harriet Louise Lucy Clara Irene Josephine Sylvia Vera Elena Mira
    Eva Ada Rosalind Hillary Nina Édith Céline
    """
)
"""Given names of women."""
_COUNTRIES = words(
    """
    Germany France Italy Spain Portugal Greece Sweden Norway Denmark Finland Poland Austria Hungary Romania
    Bulgaria Belgium Ireland Iceland Russia Ukraine Turkey Egypt Morocco Algeria Tunisia Nigeria Kenya Ethiopia
    Ghana Uganda Tanzania Zambia Zimbabwe Angola Mozambique Iran Iraq Israel Syria Lebanon Pakistan India
    Bangladesh Nepal Thailand Vietnam Cambodia Laos Malaysia Indonesia Japan China Mongolia Australia Canada
    Mexico Brazil Argentina Chile Peru Bolivia Colombia Venezuela Ecuador Uruguay Paraguay Cuba Scotland Wales
    England Switzerland Serbia Croatia Slovenia Slovakia Estonia Latvia Lithuania Singapore
    """
)
_ADJECTIVES = words(
    """
    German French Italian Spanish Portuguese Swedish Norwegian Danish Finnish Polish Austrian Hungarian
    Romanian Bulgarian Belgian Irish Icelandic Russian Ukrainian Turkish Egyptian Moroccan Algerian Nigerian
    Kenyan Ethiopian Ghanaian Iranian Iraqi Israeli Syrian Lebanese Pakistani Indian Bangladeshi Thai
    Vietnamese Cambodian Malaysian Indonesian Japanese Chinese Mongolian Australian Canadian Mexican Brazilian
    Argentine Chilean Peruvian Bolivian Colombian Venezuelan Cuban Scottish Welsh English Swiss Serbian
    Croatian Dutch American British
    """
)
COUNTRIES = (_COUNTRIES, _ADJECTIVES)
"""Countries, and the adjectives of countries."""
CITIES = words(
    """
    London Paris Berlin Madrid Rome Vienna Prague Budapest Warsaw Athens Lisbon Dublin Stockholm Oslo
    Copenhagen Helsinki Brussels Amsterdam Munich Hamburg Frankfurt Cologne Milan Venice Naples Turin Barcelona
    Seville Lyon Marseille Geneva Zurich Edinburgh Glasgow Manchester Liverpool Birmingham Moscow Kyiv Istanbul
    Cairo Baghdad Tehran Jerusalem Damascus Beirut Mumbai Delhi Kolkata Chennai Karachi Lahore Dhaka Bangkok
    Hanoi Jakarta Manila Tokyo Kyoto Osaka Seoul Beijing Shanghai Sydney Melbourne Toronto Montreal Vancouver
    Chicago Boston Philadelphia Detroit Seattle Houston Dallas Atlanta Miami Denver Baltimore Cleveland
    Pittsburgh Nairobi Lagos Johannesburg Havana Lima Bogotá Santiago Caracas
    """
)
HEADS = words(
    """
    University College Institute School Academy Museum Library Hospital Company Corporation Association Party
    Council Agency Club Union Committee Commission Department Ministry Society Foundation Orchestra Church
    Cathedral Sea Ocean River Lake Mountains Island Islands Bay Peninsula Desert Valley Street Bridge Park
    Stadium Airport War Revolution Treaty Prize Award Championship Festival Conference League Times Post Act
    Dynasty Empire Strait Gulf Theatre
    """
)
"""Last words that tell what a name of several words is the name of."""
COUNTRIES_ZH = words(
    """
    中国 美国 英国 法国 德国 日本 韩国 印度 俄罗斯 意大利 西班牙 葡萄牙 荷兰 比利时 瑞士 瑞典 挪威 丹麦 芬兰
    波兰 奥地利 匈牙利 希腊 土耳其 埃及 南非 巴西 阿根廷 智利 墨西哥 加拿大 澳大利亚 新西兰 新加坡 马来西亚
    泰国 越南 印度尼西亚 菲律宾 巴基斯坦 伊朗 以色列 沙特阿拉伯 乌克兰 爱尔兰
    """
)
CITIES_ZH = words(
    """
    北京 上海 广州 深圳 天津 重庆 成都 武汉 杭州 南京 西安 苏州 郑州 长沙 青岛 沈阳 大连 宁波 厦门 济南 哈尔滨
    长春 合肥 昆明 福州 无锡 石家庄 太原 南宁 贵阳 兰州 海口 东京 大阪 首尔 纽约 伦敦 巴黎 柏林 旧金山 洛杉矶
    芝加哥 悉尼 莫斯科
    """
)
PROVINCES_ZH = words(
    """
    广东 江苏 浙江 山东 河南 河北 四川 湖北 湖南 福建 安徽 江西 辽宁 黑龙江 陕西 山西 云南 贵州 广西 甘肃 海南
    内蒙古 新疆 西藏 青海 宁夏
    """
)
