"""Records as URLib exports them: an item with a legacy label, and one of a host with a port in its label."""

XML = """<?xml version="1.0" encoding="ISO-8859-1"?>
<metadatalist>
<metadata ReferenceType="Electronic Source">
<site>mtc-m16c.sid.inpe.br 804</site>
<holdercode>{isadg {BR SPINPE} ibi 8JMKD3MGPCW/3DT298S}</holdercode>
<identifier>83LX3pFwXQZ5Jpy/Bkjzd</identifier>
<repository>dpi.inpe.br/banon/1999/01.09.22.14</repository>
<lastupdate>2017:04.09.14.30.33 sid.inpe.br/mtc-m18@80/2008/03.17.15.17 marciana</lastupdate>
<metadatarepository>sid.inpe.br/mtc-m18@80/2005/01.02.03.04.05</metadatarepository>
<metadatalastupdate>2018:06.05.01.22.10 sid.inpe.br/mtc-m18@80/2008/03.17.15.17 admin {D 1999}</metadatalastupdate>
<citationkey>Banon:1999:InMo</citationkey>
<title>Introdução à
   morfologia</title>
<year>1999</year>
<author>Banon, Gerald Jean Francis</author>
<author>José &amp; Irmãos</author>
<group>DPI-INPE-MCT-BR</group>
<size>694 KiB</size>
<targetfile>publicação final.pdf</targetfile>
<transferableflag>1</transferableflag>
</metadata>
<metadata ReferenceType="Thesis">
<site>mtc-m16c.sid.inpe.br 804</site>
<identifier>8JMKD3MGP8W/34PGRBS</identifier>
<repository>sid.inpe.br/mtc-m18@80/2009/02.16.17.46</repository>
<lastupdate>2010:04.09.14.30.33 sid.inpe.br/mtc-m18@80/2008/03.17.15.17 marciana</lastupdate>
<metadatarepository>sid.inpe.br/mtc-m18@80/2009/02.16.17.46.30</metadatarepository>
<title>A thesis</title>
<url>http://example.org/thesis 1</url>
</metadata>
</metadatalist>
"""
BIBTEX = r"""% exported by URLib
@String{inpe = "INPE"}
@Article{Banon:1999:InMo,
               author = "Banon, Gerald Jean Francis and Jos\'{e} da Concei{\c c}{\~a}o",
                title = {Introdu\c{c}\~ao {\`a} morfologia},
                 year = 1999,
           targetfile = {a\_b.pdf},
        urlaccessdate = {2026, Oct. 02},
                  ibi = {83LX3pFwXQZ5Jpy/Bkjzd},
                  url = {http://urlib.net/ibi/83LX3pFwXQZ5Jpy/Bkjzd},
           repository = {dpi.inpe.br/banon/1999/01.09.22.14},
   metadatarepository = {sid.inpe.br/mtc-m18@80/2005/01.02.03.04.05}
}
@Misc{open, ibi = {APM77Z/KFQ6T}, title = "never closed
@Book{none, title = {No label}}
@Book{good, ibi = {APM77Z/KFQ6T}, url = "http://example.org/~banon"}
"""
ITEM = "dpi.inpe.br/banon/1999/01.09.22.14"
LEGACY = "83LX3pFwXQZ5Jpy/Bkjzd"
METADATA = "sid.inpe.br/mtc-m18@80/2005/01.02.03.04.05"
THESIS = "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"
